/**
 * What handlers have in common: the decoded request, a page and the right to use the target; writes that must not happen twice or be lost; the end, at
 * which a failure becomes its error object; and the URL of this Hub.
 *
 * A write with an `Idempotency-Key` is made once: a repeated request gets the stored response, marked as replayed. A failed statement is not part of the
 * contract: it becomes a defect, which the server answers with `overloaded` if the database is unavailable, with `internal` otherwise. A handler that can
 * fail with anything else does not compile.
 *
 * Guarantees: a command to an Edge whose outcome is recorded continues if its client disconnects, so that what an Edge has done has its record.
 */
import type { Coded, ErrorCode, ErrorObjectOf } from "@corral/domain/errors/ErrorTable"
import { UnauthorizedTarget } from "@corral/domain/errors/Failures"
import { type CurrentRequestId, withErrorObject } from "@corral/domain/http/RequestContext"
import type { HubGroup } from "@corral/domain/hub-api/HubApi"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import type { DeviceId, ProjectId } from "@corral/domain/identity/Ids"
import type { HttpRefusal } from "@corral/service/http/Refusal"
import { markReplayed } from "@corral/service/http/IdempotentRequest"
import { Context, Effect, Fiber, type Schema } from "effect"
import type { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { SqlError } from "effect/sql"
import type { Targets } from "../edges/Targets.ts"
import { HubIdempotency } from "../HubIdempotency.ts"

// Refusal for a failed statement: `overloaded` if the database is unavailable; none for a fault of the Hub.

/**
 * Classes of SQLSTATE: connection exception, transaction rollback, insufficient resources, object not in prerequisite state, operator intervention. And a
 * server that takes no writes, and the limits of a transaction, which end one of a Hub that was paused.
 */
const unavailableState = /^(?:08|40|53|55|57|25006|25P03|25P04)/

const stateOf = ({ cause }: SqlError.SqlError["reason"]): string =>
  typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : ""

export const storeRefusal = (defect: unknown): HttpRefusal | undefined =>
  defect instanceof SqlError.SqlError &&
  // A connection that is gone has no state.
  (defect.reason._tag === "ConnectionError" || unavailableState.test(stateOf(defect.reason)))
    ? { code: "overloaded" }
    : undefined

export const withErrorObjects = <A, R, Code extends ErrorCode = never>(
  self: Effect.Effect<A, Coded<Code> | SqlError.SqlError, R>
): Effect.Effect<A, ErrorObjectOf<Code>, R | CurrentRequestId> =>
  self.pipe(
    Effect.catch((error) => (error instanceof SqlError.SqlError ? Effect.die(error) : Effect.fail(error))),
    withErrorObject
  )

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

/**
 * What handlers read of a request: the decoded request where a handler is declared outside `HttpApiBuilder.group`, a page, and the right to use the
 * target.
 */
export type HubRequest<
  Group extends HubGroup["identifier"],
  Endpoint extends HttpApiEndpoint.Identifier<EndpointsOf<Group>>
> = Omit<
  HttpApiEndpoint.Request<HttpApiEndpoint.WithIdentifier<EndpointsOf<Group>, Endpoint>>,
  "endpoint" | "group" | "request"
>

export const completingCommands = Effect.map(
  Effect.scope,
  (scope) =>
    <A, E, R>(command: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.flatMap(Effect.forkIn(command, scope), Fiber.join)
)

interface KeyedRequest<A> {
  /** Principal, method and path. */
  readonly scope: string
  readonly headers: { readonly "idempotency-key"?: string | undefined }
  /** The decoded body, to which the key is bound. */
  readonly payload: unknown
  readonly response: Schema.ConstraintDecoder<A>
}

/** Runs a write in a transaction, once per key. The write rolls itself back where it fails, as `Audit.perform` does. */
export const keyedWrite = Effect.map(
  HubIdempotency,
  (idempotency) =>
    <A, E, R>({ headers, payload, response, scope }: KeyedRequest<A>, write: Effect.Effect<A, E, R>) => {
      const request = { scope, key: headers["idempotency-key"], request: payload, response }
      return Effect.flatMap(idempotency.runOnce(request, write), ({ body, replayed }) =>
        markReplayed(body, replayed)
      )
    }
)

/**
 * URL at which users reach this Hub, without a slash at its end: its origin, and its path in another program's server. From the configuration
 * and the server's address, never from a request.
 */
export class PublicUrl extends Context.Service<PublicUrl, string>()("corral/hub/PublicUrl") {}
