/** Connection of a run's proxy to a target, if the run may have one, to an address that was judged. */
import type { RequestId } from "@corral/domain/identity/Ids"
import { refuseRequest } from "@corral/service/http/Refusal"
import { Data, Effect, type Scope } from "effect"
import type { ServerResponse } from "node:http"
import { isIP, type Socket } from "node:net"
import type { HostPermission } from "./HostDecisions.ts"
import type { NetworkAccess } from "./NetworkAccess.ts"
import { reachableAddresses } from "./NetworkDecision.ts"
import { networkRefusal, type RefusalReason } from "./NetworkRefusal.ts"
import type { NetworkTarget } from "./NetworkTarget.ts"

export interface ProxyConnectionOptions {
  readonly access: NetworkAccess
  readonly permissionFor: (target: NetworkTarget) => Effect.Effect<HostPermission>
  readonly onRefused: (reason: RefusalReason, target: NetworkTarget | undefined) => void
}

export class ConnectionRefused extends Data.TaggedError("ConnectionRefused")<{
  readonly reason: RefusalReason
  readonly target: NetworkTarget | undefined
}> {}

/** A connection to the target, if it is allowed. */
export const connectTarget = Effect.fnUntraced(function* (
  { access, permissionFor }: ProxyConnectionOptions,
  target: NetworkTarget | undefined
): Effect.fn.Return<Socket, ConnectionRefused, Scope.Scope> {
  const refuse = (reason: RefusalReason) => new ConnectionRefused({ reason, target })
  if (target === undefined) return yield* refuse("malformed")
  const permission = yield* permissionFor(target)
  if (permission._tag === "Refused") return yield* refuse(permission.reason)
  const connection = Effect.gen(function* () {
    const addresses = isIP(target.host) === 0 ? yield* access.resolve(target.host) : [target.host]
    const reachable = reachableAddresses(target, permission.reach, addresses, access.ownAddresses())
    return reachable.length === 0 ? undefined : yield* access.connect(reachable, target.port)
  })
  const socket = yield* Effect.mapError(connection, ({ reason }) => refuse(reason))
  return socket ?? (yield* refuse("local_address"))
})

/** Carries out a request, with its refusal as the response. */
export const orRefused = (
  { onRefused }: ProxyConnectionOptions,
  response: ServerResponse,
  id: RequestId,
  exchange: Effect.Effect<void, ConnectionRefused, Scope.Scope>
): Effect.Effect<void> =>
  exchange.pipe(
    Effect.scoped,
    Effect.catchTag("ConnectionRefused", ({ reason, target }) =>
      Effect.sync(() => {
        onRefused(reason, target)
        refuseRequest(response, networkRefusal(reason, target), id)
      })
    ),
    Effect.onInterrupt(() => Effect.sync(() => void response.destroy()))
  )
