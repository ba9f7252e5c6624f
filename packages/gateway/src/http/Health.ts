/** `/health`: whether the Gateway accepts events, with at most one query per second. `/health/live`: whether the process answers. */
import { GatewayApi } from "@corral/domain/gateway-api/GatewayApi"
import { livenessOk, type HealthProblem, type PublicHealth } from "@corral/domain/http/Health"
import { metricsTokenMatcher } from "@corral/service/http/MetricsPage"
import { MetricsToken } from "@corral/service/telemetry/Telemetry"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Inbox } from "../inbox/Inbox.ts"

const problem: HealthProblem = {
  part: "database",
  message: "The database can't be reached or takes no writes.",
  hint: "Check that PostgreSQL is running and reachable and has free disk space. The Gateway reconnects without a restart."
}

export const gatewayHealth = HttpApiBuilder.group(
  GatewayApi,
  "health",
  Effect.fnUntraced(function* (handlers) {
    const { probe } = yield* Inbox
    const isReady = yield* Effect.cachedWithTTL(
      probe.pipe(Effect.timeout("2 seconds"), Effect.isSuccess),
      "1 second"
    )
    const carriesMetricsToken = metricsTokenMatcher(yield* MetricsToken)
    return handlers.handleAll({
      health: Effect.fnUntraced(function* ({ request }) {
        if (yield* isReady) return { status: "ok" } satisfies PublicHealth
        const notReady: PublicHealth = carriesMetricsToken(request.headers["authorization"])
          ? { status: "degraded", problems: [problem] }
          : { status: "degraded" }
        return yield* Effect.fail(notReady)
      }),
      live: () => Effect.succeed(livenessOk)
    })
  })
)
