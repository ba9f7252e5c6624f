/** `corral cancel`: cancels a run and ends all its processes. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { jsonObject, runServerFlags } from "../Flags.ts"
import { resolveRunId, runArgument } from "../run/IdArguments.ts"
import { Host } from "../terminal/Host.ts"
import { selectRunServer } from "../run/SelectRunServer.ts"
import { hasEnded } from "../run/RunStates.ts"

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
