/** `corral cancel`: cancels a run and ends all its processes. */
import { RunId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { jsonObject, runServerFlags } from "../Flags.ts"
import { Host } from "../terminal/Host.ts"
import { selectRunServer } from "../run/SelectRunServer.ts"
import { hasEnded } from "../run/RunStates.ts"

export const cancelCommand = Command.make(
  "cancel",
  {
    ...runServerFlags,
    json: jsonObject,
    run: Argument.String("run").pipe(Argument.withDescription("Id of the run"), Argument.withSchema(RunId))
  },
  Effect.fn(function* ({ run: id, json, ...choice }) {
    const host = yield* Host
    const server = yield* selectRunServer(choice)
    const run = yield* server.cancel(id)
    host.write(
      json ? `${JSON.stringify(run)}\n` : `${id} ${hasEnded(run.state) ? run.state : "is being cancelled"}\n`
    )
  })
).pipe(Command.withDescription("Cancel a run"))
