/** Choice of one item from a list at the terminal, with the arrow keys. */
import { Effect } from "effect"
import { Prompt } from "effect/cli"
import { exitCodes, exitWith } from "../CommandFailed.ts"
import { fitColumns } from "./Rows.ts"
import { Host } from "./Host.ts"
import { escapeLine } from "./VisibleText.ts"

export interface ListChoice<A> {
  readonly title: string
  readonly value: A
}

const SHOWN = 12
/** Columns of the prompt's marks, next to the message. */
const MARGIN = 7

/** Ctrl-C ends the command. */
export const choose = <A>(message: string, choices: ReadonlyArray<ListChoice<A>>) =>
  Effect.gen(function* () {
    const host = yield* Host
    const room = host.size().columns - MARGIN - message.length
    return yield* Prompt.Select({
      message,
      maxPerPage: SHOWN,
      choices: choices.map(({ title, value }) => ({ title: fitColumns(escapeLine(title), room), value }))
    }).pipe(Effect.mapError(() => exitWith(exitCodes.cancelled)))
  })
