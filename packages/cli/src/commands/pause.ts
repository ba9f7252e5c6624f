/**
 * `corral pause` and `corral unpause`: freezes all processes of a run, and lets them continue.
 *
 * The second is not named `resume`: `corral run --resume` continues the conversation of a run that has ended.
 */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { jsonObject, runServerFlags } from "../Flags.ts"
import { resolveRunId, runArgument } from "../run/IdArguments.ts"
import type { RunServer } from "../run/RunServer.ts"
import { selectRunServer } from "../run/SelectRunServer.ts"
import { Host } from "../terminal/Host.ts"

const flags = { ...runServerFlags, json: jsonObject, run: runArgument }

const pauseChange = (change: "pause" | "resume", done: string) =>
  Effect.fn(function* ({ run: start, json, ...choice }: Command.Command.Config.Infer<typeof flags>) {
    const host = yield* Host
    const server: RunServer = yield* selectRunServer(choice)
    const id = yield* resolveRunId(server)(start)
    const run = yield* server[change](id)
    host.write(json ? `${JSON.stringify(run)}\n` : `${id} ${done}\n`)
  })

export const pauseCommand = Command.make("pause", flags, pauseChange("pause", "is paused")).pipe(
  Command.withDescription("Pause a run: freeze its processes and stop its clocks. `unpause` lets it continue")
)

export const unpauseCommand = Command.make("unpause", flags, pauseChange("resume", "continues")).pipe(
  Command.withDescription(
    "Let a paused run continue. To continue the conversation of an ended run, use `run --resume`"
  )
)
