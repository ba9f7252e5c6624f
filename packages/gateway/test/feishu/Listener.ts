/** A bot on a long connection, as a process, until its stdin ends; then nothing may keep it. */
import { Effect, Redacted } from "effect"
import { once } from "node:events"
import { feishu } from "../../src/feishu/Feishu.ts"

const bot = feishu({
  appId: process.env["APP_ID"] ?? "",
  appSecret: Redacted.make(process.env["APP_SECRET"] ?? ""),
  domain: process.env["DOMAIN"] ?? "",
  tenants: [],
  connection: "long"
})

const listen = Effect.gen(function* () {
  if (bot.connect === undefined) return yield* Effect.die("the bot makes no connection")
  yield* bot.connect(() => Effect.void)
  process.stdin.resume()
  yield* Effect.promise(() => once(process.stdin, "end"))
})

await Effect.runPromise(Effect.scoped(listen))
