/**
 * A real Gateway with a handler, as its own process: each call is a row of `calls`, and what a Hub would have done for its key once is a
 * row of `effects`. A text tells what is to happen: `fail` and `refuse` come to nothing, `die` ends the process.
 */
import type { IntegrationEvent } from "@corral/domain/chat/Integration"
import { HandlerFailed } from "@corral/gateway/handling/Handler"
import * as Gateway from "@corral/gateway/Gateway"
import { GatewayServer } from "@corral/gateway/http/Server"
import { gatewayConfigFrom } from "@corral/gateway/GatewaySettings"
import { runService } from "@corral/service/runService"
import { Effect, Layer } from "effect"
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
  if (text === "die") process.kill(process.pid, "SIGKILL")
  yield* write("INSERT INTO effects (key) VALUES ($1) ON CONFLICT DO NOTHING", [event.key])
}, Effect.asVoid)

const gateway = Layer.unwrap(
  Effect.map(gatewayConfigFrom(process.env), (config) => Gateway.gatewayLayer(config, { handler, ...work }))
)

runService(
  gateway,
  Effect.map(GatewayServer, ({ url }) => ({ ready: true, service: "gateway", url }))
)
