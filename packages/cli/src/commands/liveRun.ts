/**
 * `corral cancel`, `corral finish`, `corral pause` and `corral unpause`: end a live run, or freeze all its processes and let them continue.
 *
 * The last one is not named `resume`: `corral run --resume` continues the conversation of a run that has ended.
 */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { jsonObject, runServerFlags } from "../Flags.ts"
import { resolveRunId, runArgument } from "../run/IdArguments.ts"
import { type RunServer, hasEnded } from "../run/RunServer.ts"
import { selectRunServer } from "../run/SelectRunServer.ts"
import { Host } from "../terminal/Host.ts"

/** `corral cancel`: cancels a run and ends all its processes. */
export const cancelCommand = Command.make(
  "cancel",
  {
    ...runServerFlags,
    json: jsonObject,
    run: runArgument
  },
  Effect.fn(function* ({ run: start, json, ...choice }) {
    const host = yield* Host
    const server = yield* selectRunServer(choice)
    const id = yield* resolveRunId(server)(start)
    const run = yield* server.cancel(id)
    host.write(
      json ? `${JSON.stringify(run)}\n` : `${id} ${hasEnded(run.state) ? run.state : "is being cancelled"}\n`
    )
  })
).pipe(Command.withDescription("Cancel a run"))

/** `corral finish`: ends the background work of a run, and completes it with the result of its last turn. */
export const finishCommand = Command.make(
  "finish",
  { ...runServerFlags, json: jsonObject, run: runArgument },
  Effect.fn(function* ({ run: start, json, ...choice }) {
    const host = yield* Host
    const server = yield* selectRunServer(choice)
    const id = yield* resolveRunId(server)(start)
    const run = yield* server.finish(id)
    host.write(
      json ? `${JSON.stringify(run)}\n` : `${id} ${hasEnded(run.state) ? run.state : "is being finished"}\n`
    )
  })
).pipe(
  Command.withDescription(
    "Finish a run whose agent has ended its turn: stop its background work and keep its result"
  )
)

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
