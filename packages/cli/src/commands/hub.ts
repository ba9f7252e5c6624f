/** `corral hub`: operator tasks of a Hub. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { exitCodes, exitWith } from "../CommandFailed.ts"
import { formatInspection } from "../doctor/DiagnosisReport.ts"
import { jsonObject } from "../Flags.ts"
import { Host } from "../terminal/Host.ts"
import { makePaint } from "../terminal/Rows.ts"

const migrate = Command.make(
  "migrate",
  { json: jsonObject },
  Effect.fn(function* ({ json }) {
    const host = yield* Host
    // Loaded on demand: other commands start faster without a database client.
    const { migrateHubStore } = yield* Effect.promise(() => import("../service/HubStore.ts"))
    const steps = yield* migrateHubStore(host.environment)
    host.write(
      json
        ? `${JSON.stringify({ steps })}\n`
        : `The Hub database is up to date: ${steps.length} migrations, the latest is ${steps.at(-1) ?? "none"}.\n`
    )
  })
).pipe(
  Command.withDescription("Run pending migrations of the Hub database. A Hub also does this when it starts")
)

const doctor = Command.make(
  "doctor",
  { json: jsonObject },
  Effect.fn(function* ({ json }) {
    const host = yield* Host
    const { inspectHubStore } = yield* Effect.promise(() => import("../service/HubStore.ts"))
    const parts = yield* inspectHubStore(host.environment)
    const hasProblem = parts.some(({ findings }) => findings.some(({ state }) => state === "problem"))
    host.write(
      json
        ? `${JSON.stringify({ status: hasProblem ? "problem" : "ok", parts })}\n`
        : formatInspection(parts, makePaint(host.colours))
    )
    if (hasProblem) return yield* exitWith(exitCodes.failed)
  })
).pipe(
  Command.withDescription(
    "Check the Hub database and report problems. Changes nothing, and runs beside live Hubs"
  )
)

export const hubCommand = Command.make("hub").pipe(
  Command.withDescription("Operate a Hub"),
  Command.withSubcommands([migrate, doctor])
)
