/** `/health`: whether the Gateway accepts events, with at most one query per second. `/health/live`: whether the process answers. */
import { GatewayApi } from "@corral/domain/gateway-api/GatewayApi"
import { livenessOk, type HealthProblem, type PublicHealth } from "@corral/domain/http/Health"
import { clockSkewProblem } from "@corral/service/clock/ClockSkew"
import { DatabaseClock } from "@corral/service/clock/DatabaseClock"
import { metricsTokenMatcher } from "@corral/service/http/MetricsPage"
import { MetricsToken } from "@corral/service/telemetry/Telemetry"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Inbox } from "../inbox/Inbox.ts"

const noDatabase: HealthProblem = {
  part: "database",
  message: "The database can't be reached or takes no writes.",
  hint: "Check that PostgreSQL is running and reachable and has free disk space. The Gateway reconnects without a restart."
}

const CLOCK_HINT =
  "Synchronize both machines with NTP. The Gateway works with the time of the database server."

export const gatewayHealth = HttpApiBuilder.group(
  GatewayApi,
  "health",
  Effect.fnUntraced(function* (handlers) {
    const { probe } = yield* Inbox
    const isReady = yield* Effect.cachedWithTTL(
      probe.pipe(Effect.timeout("2 seconds"), Effect.isSuccess),
      "1 second"
    )
    const { skewMs } = yield* DatabaseClock
    const carriesMetricsToken = metricsTokenMatcher(yield* MetricsToken)
    return handlers.handleAll({
      health: Effect.fnUntraced(function* ({ request }) {
        const isNowReady = yield* isReady
        const problems = [
          ...(isNowReady ? [] : [noDatabase]),
          ...clockSkewProblem(skewMs(), "the database server", CLOCK_HINT)
        ]
        const status = problems.length === 0 ? "ok" : "degraded"
        const isDetailed = problems.length > 0 && carriesMetricsToken(request.headers["authorization"])
        const body: PublicHealth = isDetailed ? { status, problems } : { status }
        return yield* isNowReady ? Effect.succeed(body) : Effect.fail(body)
      }),
      live: () => Effect.succeed(livenessOk)
    })
  })
)
