/**
 * Real Gateway process with a test handler. Each call is a row of `calls`; the first successful call of a key is a row of `effects`. The text
 * of a message selects the outcome: `fail` and `refuse` fail, `die` ends the process, `after KEY` waits for the call of another key to succeed.
 */
import type { IntegrationEvent } from "@corral/domain/chat/Integration"
import { HandlerFailed } from "@corral/gateway/handling/Handler"
import * as Gateway from "@corral/gateway/Gateway"
import { GatewayConfig } from "@corral/gateway/GatewayConfig"
import { GatewayServer } from "@corral/gateway/http/Server"
import { readGatewayConfig } from "@corral/gateway/GatewaySettings"
import { runService } from "@corral/service/runService"
import { Effect, Layer, Schedule } from "effect"
import { Pool } from "pg"

const pool = new Pool({ connectionString: process.env["CORRAL_DATABASE_URL"], max: 8 })
// A server that is started again ends the idle ones.
pool.on("error", () => undefined)

const write = (text: string, values: ReadonlyArray<unknown>) =>
  Effect.tryPromise({
    try: () => pool.query(text, [...values]),
    catch: () => new HandlerFailed({ message: "The records cannot be written.", permanent: false })
  })

const work = {
  patienceMs: Number(process.env["TEST_PATIENCE_MS"] ?? 500),
  /** A kill in the middle of an event counts. */
  maxCrashes: Number(process.env["TEST_MAX_CRASHES"] ?? 2)
}

const failed = (permanent: boolean) => new HandlerFailed({ message: "It was told to.", permanent })

const handler = Effect.fnUntraced(function* (event: IntegrationEvent) {
  const text = "text" in event.payload ? event.payload.text : ""
  yield* write("INSERT INTO calls (key, event) VALUES ($1, $2)", [event.key, JSON.stringify(event)])
  if (text === "fail") return yield* failed(false)
  if (text === "refuse") return yield* failed(true)
  if (text.startsWith("after "))
    yield* write("SELECT 1 FROM effects WHERE key = $1", [text.slice("after ".length)]).pipe(
      Effect.repeat({ until: ({ rowCount }) => rowCount === 1, schedule: Schedule.spaced("20 millis") })
    )
  if (text === "die") process.kill(process.pid, "SIGKILL")
  yield* write("INSERT INTO effects (key) VALUES ($1) ON CONFLICT DO NOTHING", [event.key])
}, Effect.asVoid)

const gateway = Layer.provide(
  Gateway.gatewayLayerWith({ handler, ...work }),
  Layer.effect(GatewayConfig, readGatewayConfig(process.env))
)

runService(
  gateway,
  Effect.map(GatewayServer, ({ url }) => ({ ready: true, service: "gateway", url }))
)
