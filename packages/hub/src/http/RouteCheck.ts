/** Check before a command to an Edge: the user may use the target. Each command checks again, without an open transaction. */
import { UnauthorizedTarget } from "@corral/domain/errors/Failures"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import type { DeviceId, ProjectId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import type { Targets } from "../edges/Targets.ts"

/** Runs `self` if the caller may use the target for the project. */
export const requireRoute =
  (targets: Targets["Service"], place: { readonly targetId: DeviceId; readonly projectId: ProjectId }) =>
  <A, E, R>(self: Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      const { userId } = yield* CurrentPrincipal
      const isAllowed = yield* targets.canRoute(userId, place.targetId, place.projectId)
      return yield* isAllowed ? self : Effect.fail(new UnauthorizedTarget())
    })
