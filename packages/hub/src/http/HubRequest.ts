/**
 * What handlers read of a request: the decoded request where a handler is declared outside `HttpApiBuilder.group`, a page, and the right to use the
 * target.
 */
import type { HubGroup } from "@corral/domain/hub-api/HubApi"
import type { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { UnauthorizedTarget } from "@corral/domain/errors/Failures"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import type { DeviceId, ProjectId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import type { Targets } from "../edges/Targets.ts"

// Check before a command to an Edge: the user may use the target. Each command checks again, without an open transaction.

/** Runs `self` if the caller may use the target for the project. */
export const requireRoute =
  (targets: Targets["Service"], place: { readonly targetId: DeviceId; readonly projectId: ProjectId }) =>
  <A, E, R>(self: Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      const { userId } = yield* CurrentPrincipal
      const isAllowed = yield* targets.canRoute(userId, place.targetId, place.projectId)
      return yield* isAllowed ? self : Effect.fail(new UnauthorizedTarget())
    })

// A page of what an Edge gave whole, by a text that orders it.

export const pageAfter = <A>(
  items: ReadonlyArray<A>,
  keyOf: (item: A) => string,
  after: string | undefined,
  limit: number
): ReadonlyArray<A> =>
  items
    .filter((item) => after === undefined || keyOf(item) > after)
    .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    .slice(0, limit)

type EndpointsOf<Group extends HubGroup["identifier"]> = HttpApiGroup.EndpointsWithIdentifier<HubGroup, Group>

export type HubRequest<
  Group extends HubGroup["identifier"],
  Endpoint extends HttpApiEndpoint.Identifier<EndpointsOf<Group>>
> = HttpApiEndpoint.Request<HttpApiEndpoint.WithIdentifier<EndpointsOf<Group>, Endpoint>>
