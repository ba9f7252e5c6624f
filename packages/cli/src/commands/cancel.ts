/** `corral cancel`: ends a run and everything it has started. */
import { RunId } from "@corral/domain/Ids"
import { isTerminal } from "@corral/domain/Run"
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { asked, connect } from "../EdgeClient.ts"
import { edgeFlags } from "../Flags.ts"
import { Host } from "../Host.ts"

export const cancel = Command.make(
  "cancel",
  {
    ...edgeFlags,
    run: Argument.String("run").pipe(Argument.withDescription("Id of the run"), Argument.withSchema(RunId))
  },
  Effect.fn(function* ({ url, tokenFile, run: id }) {
    const host = yield* Host
    const calls = yield* connect({ url, tokenFile })
    const { state } = yield* asked(calls.runs.cancel({ params: { id } }))
    host.write(`${id} ${isTerminal(state) ? state : "is being cancelled"}\n`)
  })
).pipe(Command.withDescription("Cancel a run"))
