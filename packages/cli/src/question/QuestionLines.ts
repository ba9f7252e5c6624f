/**
 * Text of an input request at a terminal: its questions with numbered options, its plan or its address, whole and as the program wrote it; the
 * commands that answer it from another terminal; and how it ended.
 *
 * Does not: select anything in advance.
 */
import type { DecisionOrigin } from "@corral/domain/approval/Approval"
import { answerTexts, type Question, type RequestedInput } from "@corral/domain/input/InputRequest"
import type { InputResolution } from "@corral/domain/run/Resolution"
import { type Paint, paintRow, type Row, VALUE_INDENT } from "../terminal/Rows.ts"
import { localTime } from "../terminal/ShownTime.ts"
import { escapeControls, escapeLine } from "../terminal/VisibleText.ts"

/** Where a decision or an answer was made, as the end of a sentence. */
export const originTexts: Readonly<Record<DecisionOrigin, string>> = {
  console: " in the console",
  terminal: " in a terminal",
  chat: " in a chat",
  editor: " in an editor",
  policy: ""
}

const quoted = (text: string): string =>
  /^[\w.-]+$/u.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

const flagOfOnly = ({ allowsOther, kind, secret }: Question): ReadonlyArray<string> => {
  if (kind === "choice") return ["--option 1", ...(allowsOther === true ? ["--text '…'"] : [])]
  if (secret === true) return ["--text -"]
  return [kind === "boolean" ? "--text yes" : kind === "number" ? "--text 1" : "--text '…'"]
}

/** Flags of `corral answer` that fit a request, as examples for people. One element for each way to answer. */
export const answerFlags = ({ kind, questions = [] }: RequestedInput): ReadonlyArray<string> => {
  if (kind === "plan") return ["--approve", "--return --comment '…'"]
  const [only, ...more] = questions
  if (only === undefined) return ["--done", "--decline"]
  if (more.length === 0) return [...flagOfOnly(only), "--decline"]
  return [questions.map(({ id }) => `--value ${quoted(id)}=…`).join(" "), "--decline"]
}

type Rows = ReadonlyArray<Row>

const linesOf = (text: string): ReadonlyArray<string> => escapeControls(text).replace(/\n$/, "").split("\n")

const indented = (text: string, indent: string): Rows =>
  linesOf(text).map((line) => [{ text: `${indent}${line}` }])

/** Number of the answer that the person writes. `undefined` if the question takes none. */
export const otherNumber = ({ allowsOther, options = [] }: Question): number | undefined =>
  allowsOther === true ? options.length + 1 : undefined

const rangeOf = ({ max, min }: Question): string => {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`
  if (min !== undefined) return ` from ${min}`
  return max === undefined ? "" : ` up to ${max}`
}

/** What kind of answer the question takes. */
const kindText = (question: Question): string => {
  const { format, integer, kind, multiple, secret } = question
  switch (kind) {
    case "choice":
      return multiple === true ? "one or more" : "one"
    case "boolean":
      return "yes or no"
    case "number":
      return `${integer === true ? "whole number" : "number"}${rangeOf(question)}`
    case "text":
      return `${secret === true ? "secret " : ""}text${format === undefined ? "" : `, ${escapeLine(format)}`}`
  }
}

const optionRows = (question: Question): Rows => {
  const other = otherNumber(question)
  return [
    ...(question.options ?? []).map(({ description, label }, at): Row => {
      const about = description === undefined ? "" : ` – ${escapeLine(description)}`
      return [{ text: `${VALUE_INDENT}${at + 1}. ${escapeLine(label)}` }, { text: about, style: "dim" }]
    }),
    ...(other === undefined ? [] : [[{ text: `${VALUE_INDENT}${other}. something else` }]])
  ]
}

/** What kind of answer, in parentheses. */
const aboutSpan = (question: Question) =>
  ({
    text: ` (${kindText(question)}${question.required === false ? ", optional" : ""})`,
    style: "dim"
  }) as const

/** One question. `number`: its place among several. */
export const questionRows = (question: Question, number?: number): Rows => {
  const { header, text } = question
  const place = number === undefined ? "" : `${number}. `
  const [first = "", ...rest] = linesOf(text)
  return [
    [
      { text: `  ${place}${header === undefined ? "" : `${escapeLine(header)}: `}${first}` },
      aboutSpan(question)
    ],
    ...rest.map((line): Row => [{ text: `  ${line}` }]),
    ...optionRows(question)
  ]
}

const heads = { question: "question", plan: "plan", link: "open an address" } as const

/** All lines of a request. */
export const requestLines = ({ kind, plan, questions = [], title, url }: RequestedInput): Rows => {
  const head: Row = [
    { text: heads[kind], style: ["bold", "yellow"] },
    { text: ": " },
    { text: escapeLine(title), style: "bold" }
  ]
  const [only, another] = questions
  // The title is the question.
  if (only !== undefined && another === undefined && only.text === title)
    return [[...head, aboutSpan(only)], ...optionRows(only)]
  return [
    head,
    ...(plan === undefined ? [] : indented(plan, "  ")),
    // Corral never opens it.
    ...(url === undefined ? [] : indented(url, VALUE_INDENT)),
    ...questions.flatMap((question, at) => questionRows(question, questions.length > 1 ? at + 1 : undefined))
  ]
}

interface InputBlockOptions {
  readonly inputId: string
  readonly request: RequestedInput
  readonly expiresAt: string | undefined
  readonly invocation: string
  /** Flags that select the server of the run, each after a space. */
  readonly named: string
  readonly paint: Paint
}

/**
 * Text of a question, a form or a plan in the output of a run: the whole request, and the commands that answer it from another terminal. Formats
 * the block. The last line ends with a newline.
 */
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

const states: Readonly<Record<InputResolution["state"], string>> = {
  pending: "open",
  answered: "answered",
  declined: "skipped",
  expired: "expired without an answer",
  withdrawn: "no longer asked",
  self_answered: "the agent continued without an answer",
  cancelled: "closed without an answer"
}

const stateText = ({ approved, mode, state }: InputResolution): string => {
  if (approved === undefined) return states[state]
  return approved ? `plan approved${mode === undefined ? "" : `, to work in ${mode}`}` : "plan sent back"
}

/** Line of text about the end of a question, a form or a plan: how it ended, by whom, where, and what was answered. */
export const inputResolutionLine = (
  request: RequestedInput | undefined,
  resolution: Omit<InputResolution, "resolvedAt">,
  nameOf: (user: string) => string
): Row => {
  const { answeredBy, answers, comment, origin, state } = resolution
  const who = answeredBy === undefined ? "" : ` by ${escapeLine(nameOf(answeredBy))}`
  const where = origin === undefined ? "" : originTexts[origin]
  const what = [
    ...answerTexts(request, answers).map(escapeLine),
    ...(comment === undefined ? [] : [escapeLine(comment)])
  ]
  return [
    { text: stateText(resolution), style: state === "answered" ? "green" : "yellow" },
    { text: `${who}${where}${what.length === 0 ? "" : `: ${what.join("; ")}`}` }
  ]
}
