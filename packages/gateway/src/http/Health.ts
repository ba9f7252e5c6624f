/** `/health`: whether the Gateway accepts events, with at most one query per second. `/health/live`: whether the process answers. */
import { alive, type HealthProblem, type PublicHealth } from "@corral/domain/http/Health"
import { metricsTokenMatcher } from "@corral/service/http/MetricsPage"
import { MetricsToken } from "@corral/service/telemetry/Telemetry"
import { Context, Effect } from "effect"
import { Inbox } from "../inbox/Inbox.ts"
import { type Listener, send } from "./Webhook.ts"

const problem: HealthProblem = {
  part: "database",
  message: "The database takes no writes.",
  hint: "Check that PostgreSQL is running and reachable. The Gateway reconnects without a restart."
}

export const live: Listener = (_, response) => send(response, 200, alive)

export const health = Effect.fnUntraced(function* (services: Context.Context<Inbox>) {
  const probe = Context.get(services, Inbox).probe.pipe(Effect.timeout("2 seconds"), Effect.isSuccess)
  const ready = yield* Effect.cachedWithTTL(probe, "1 second")
  const carriesMetricsToken = metricsTokenMatcher(yield* MetricsToken)
  const run = Effect.runForkWith(services)
  const listener: Listener = (request, response) => {
    const notReady: PublicHealth = carriesMetricsToken(request.headers.authorization)
      ? { status: "degraded", problems: [problem] }
      : { status: "degraded" }
    run(
      Effect.map(ready, (isReady) =>
        isReady ? send(response, 200, { status: "ok" }) : send(response, 503, notReady)
      )
    )
  }
  return listener
})
