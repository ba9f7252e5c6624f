/** `corral finish`: ends the background work of a run, and completes it with the result of its last turn. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { jsonObject, runServerFlags } from "../Flags.ts"
import { resolveRunId, runArgument } from "../run/IdArguments.ts"
import { hasEnded } from "../run/RunStates.ts"
import { selectRunServer } from "../run/SelectRunServer.ts"
import { Host } from "../terminal/Host.ts"

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
