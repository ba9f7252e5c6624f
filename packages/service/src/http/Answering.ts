/**
 * What a service does with the requests and upgrades that a server hands to it: its guard, its limits, its error objects, its metrics page. The
 * service's own server and the server of another program use the same.
 */
import type { RequestId } from "@corral/domain/identity/Ids"
import { Clock, Context, Effect } from "effect"
import type { HttpApi, HttpApiGroup } from "effect/http-api"
import type { IncomingMessage } from "node:http"
import { mint } from "../Identifiers.ts"
import { CurrentMetrics } from "../telemetry/Metrics.ts"
import { MetricsToken } from "../telemetry/Telemetry.ts"
import { CurrentTraces } from "../telemetry/Traces.ts"
import { type ConnectionHandlers, makeConnections } from "./Connections.ts"
import { serveMetrics } from "./MetricsPage.ts"
import { RequestGuard, type RequestPolicy } from "./RequestGuard.ts"
import { requestIdOf } from "./RequestIdLayer.ts"
import { requestWatch } from "./RequestWatch.ts"
import { answerUnanswered } from "./Unanswered.ts"

/** Address at which a service is reached on this machine. */
export class ServiceAddress extends Context.Service<
  ServiceAddress,
  {
    /** Origin, with the port. */
    readonly url: string
    readonly port: number
    /** Path below which the service is; empty in its own server. */
    readonly path: string
  }
>()("corral/service/ServiceAddress") {}

export interface AnsweringOptions<Id extends string, Groups extends HttpApiGroup.Constraint, R1, R2> {
  readonly api: HttpApi.HttpApi<Id, Groups>
  readonly policy: Effect.Effect<RequestPolicy, never, R1>
  readonly connections: Effect.Effect<ConnectionHandlers, never, R2>
}

/** The id that a request carries, or a new one. */
export const requestIdentifier = Effect.map(
  Clock.Clock,
  (clock) =>
    (request?: IncomingMessage): RequestId =>
      requestIdOf(request?.headers ?? {}) ?? mint<RequestId>("req", clock.currentTimeMillisUnsafe())
)

export const makeAnswering = Effect.fnUntraced(function* <
  Id extends string,
  Groups extends HttpApiGroup.Constraint,
  R1,
  R2
>({ api, connections, policy }: AnsweringOptions<Id, Groups, R1, R2>, address: ServiceAddress["Service"]) {
  const listening = Context.make(ServiceAddress, address)
  const guard = RequestGuard.make(yield* Effect.provide(policy, listening))
  const guarded = Context.add(listening, RequestGuard, guard)
  const handlers = yield* Effect.provide(connections, guarded)
  const metrics = yield* CurrentMetrics
  return {
    /** Services of the routes. */
    guarded,
    /** Ends upgraded connections. */
    closeUpgraded: handlers.closeUpgraded ?? Effect.void,
    /** Answers a cause that the routes left. */
    unanswered: answerUnanswered(api, handlers.refusalOfDefect),
    ...makeConnections({
      handlers,
      idOf: yield* requestIdentifier,
      watch: requestWatch(metrics, yield* CurrentTraces, handlers.paths),
      serveMetrics: serveMetrics(metrics, yield* MetricsToken)
    })
  }
})
