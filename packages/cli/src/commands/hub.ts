/** `corral hub`: what an operator does to a Hub from beside it. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { jsonObject } from "../Flags.ts"
import { Host } from "../terminal/Host.ts"

const migrate = Command.make(
  "migrate",
  { json: jsonObject },
  Effect.fn(function* ({ json }) {
    const host = yield* Host
    // The other commands start faster without a database.
    const { migrateHubStore } = yield* Effect.promise(() => import("../service/HubStore.ts"))
    const steps = yield* migrateHubStore(host.environment)
    host.write(
      json
        ? `${JSON.stringify({ steps })}\n`
        : `The Hub's database is up to date: ${steps.length} steps, the last is ${steps.at(-1) ?? "none"}.\n`
    )
  })
).pipe(Command.withDescription("Bring the Hub's database up to date, as a Hub does when it starts"))

export const hubCommand = Command.make("hub").pipe(
  Command.withDescription("Look after a Hub"),
  Command.withSubcommands([migrate])
)
