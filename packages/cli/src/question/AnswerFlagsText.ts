/** Flags of `corral answer` that fit a request, as examples for people. */
import type { Question, RequestedInput } from "@corral/domain/input/InputRequest"

const quoted = (text: string): string =>
  /^[\w.-]+$/u.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

const flagOfOnly = ({ allowsOther, kind, secret }: Question): ReadonlyArray<string> => {
  if (kind === "choice") return ["--option 1", ...(allowsOther === true ? ["--text '…'"] : [])]
  if (secret === true) return ["--text -"]
  return [kind === "boolean" ? "--text yes" : kind === "number" ? "--text 1" : "--text '…'"]
}

/** One element for each way to answer. */
export const answerFlags = ({ kind, questions = [] }: RequestedInput): ReadonlyArray<string> => {
  if (kind === "plan") return ["--approve", "--return --comment '…'"]
  const [only, ...more] = questions
  if (only === undefined) return ["--done", "--decline"]
  if (more.length === 0) return [...flagOfOnly(only), "--decline"]
  return [questions.map(({ id }) => `--value ${quoted(id)}=…`).join(" "), "--decline"]
}
