/** `corral cancel`: ends a run and everything it has started. */
import { RunId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { jsonObject, placeFlags } from "../Flags.ts"
import { Host } from "../terminal/Host.ts"
import { placeOf } from "../run/RunServer.ts"
import { hasEnded } from "../run/RunStates.ts"

export const cancel = Command.make(
  "cancel",
  {
    ...placeFlags,
    json: jsonObject,
    run: Argument.String("run").pipe(Argument.withDescription("Id of the run"), Argument.withSchema(RunId))
  },
  Effect.fn(function* ({ run: id, json, ...choice }) {
    const host = yield* Host
    const place = yield* placeOf(choice)
    const run = yield* place.cancel(id)
    host.write(
      json ? `${JSON.stringify(run)}\n` : `${id} ${hasEnded(run.state) ? run.state : "is being cancelled"}\n`
    )
  })
).pipe(Command.withDescription("Cancel a run"))
