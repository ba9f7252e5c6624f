/** Text of a question, a form or a plan in the output of a run: the whole request, and the commands that answer it from another terminal. */
import type { RequestedInput } from "@corral/domain/input/InputRequest"
import type { Paint } from "../terminal/Paint.ts"
import { localTime } from "../terminal/ShownTime.ts"
import { escapeLine } from "../terminal/VisibleText.ts"
import { paintRow } from "../terminal/WrapText.ts"
import { answerFlags } from "./AnswerFlagsText.ts"
import { requestLines } from "./QuestionLines.ts"

export interface InputBlockOptions {
  readonly inputId: string
  readonly request: RequestedInput
  readonly expiresAt: string | undefined
  readonly invocation: string
  /** Flags that select the server of the run, each after a space. */
  readonly named: string
  readonly paint: Paint
}

/** Formats the block. The last line ends with a newline. */
export const inputBlock = ({
  expiresAt,
  inputId,
  invocation,
  named,
  paint,
  request
}: InputBlockOptions): string => {
  const expiry = expiresAt === undefined ? "" : `, expires ${localTime(expiresAt)}`
  const ways = answerFlags(request).map(
    (flags) => `    ${invocation} answer ${inputId}${named} ${escapeLine(flags)}`
  )
  return [
    ...requestLines(request).map((line) => paintRow(line, paint)),
    paint("dim", `  ${inputId}${expiry}`),
    paint("dim", ["  from another terminal:", ...ways].join("\n")),
    ""
  ].join("\n")
}
