/**
 * Text of an approval: the complete request, and the commands that decide it from another terminal; and its prompt, with the answers that it
 * accepts.
 *
 * Guarantees: no text of an agent begins a line of the block. Lines of a longer text are indented further than the labels.
 */
import type { ApprovalRequest, DecideApproval } from "@corral/domain/approval/Approval"
import type { ApprovalId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import type { Host } from "../terminal/Host.ts"
import { type Paint, paintRow, type Row, VALUE_INDENT } from "../terminal/Rows.ts"
import { type PromptQueue, promptLine } from "../terminal/Prompts.ts"
import { localTime } from "../terminal/ShownTime.ts"
import { escapeControls, escapeLine } from "../terminal/VisibleText.ts"

export type TerminalAnswer = Pick<DecideApproval, "decision" | "scope">

const answersByKey: Readonly<Record<string, TerminalAnswer>> = {
  y: { decision: "allow", scope: "once" },
  a: { decision: "allow", scope: "run" },
  n: { decision: "deny", scope: "once" },
  c: { decision: "cancel", scope: "once" }
}

/** Parses typed text. Returns undefined if this approval does not accept the answer. */
export const parseAnswer = (typed: string, request: ApprovalRequest): TerminalAnswer | undefined => {
  const answer = answersByKey[typed.trim().toLowerCase().charAt(0)]
  return answer?.scope === "run" && !request.scopes.includes("run") ? undefined : answer
}

export const formatQuestion = (request: ApprovalRequest): string => {
  const forRun = request.scopes.includes("run") ? " · [a]llow for this run" : ""
  return `Allow? [y]es${forRun} · [n]o · [c]ancel run: `
}

/** Asks about an approval. Passes the answer to `decide`, which handles its own failures. `open`: the answer did not arrive, so it asks again. */
export const askApproval = (
  queue: PromptQueue,
  host: Host["Service"],
  approvalId: ApprovalId,
  request: ApprovalRequest,
  decide: (answer: TerminalAnswer) => Effect.Effect<"settled" | "open">
): Effect.Effect<void> => {
  const line = promptLine(
    host,
    () => ({ text: formatQuestion(request) }),
    (typed) => parseAnswer(typed, request),
    queue.area
  )
  const answered = Effect.repeat(Effect.flatMap(line, decide), { while: (outcome) => outcome === "open" })
  return queue.ask(approvalId, Effect.asVoid(answered))
}

export interface ApprovalBlockOptions {
  readonly approvalId: string
  readonly request: ApprovalRequest
  readonly expiresAt: string
  readonly invocation: string
  /** Flags that select the server of the run, each after a space. */
  readonly named: string
  readonly paint: Paint
}

const riskTint = { low: "green", medium: "yellow", high: "red" } as const

const linesOf = (text: string): ReadonlyArray<string> => escapeControls(text).replace(/\n$/, "").split("\n")

const indented = (line: string): Row => [{ text: `${VALUE_INDENT}${line}` }]

/** One labelled value. A value with several lines starts below its label. */
const field = (label: string, value: string | undefined): ReadonlyArray<Row> => {
  if (value === undefined || value === "") return []
  const lines = linesOf(value)
  return lines.length > 1
    ? [[{ text: `  ${label}:` }], ...lines.map(indented)]
    : [[{ text: `  ${label}: ${lines.join("")}` }]]
}

/** One labelled name or more, each on one line: a line break in a name cannot look like another name. */
const names = (label: string, values: ReadonlyArray<string> = []): ReadonlyArray<Row> => {
  const [first = "", ...rest] = values.map(escapeLine)
  if (rest.length > 0) return [[{ text: `  ${label}:` }], ...[first, ...rest].map(indented)]
  return first === "" ? [] : [[{ text: `  ${label}: ${first}` }]]
}

/** Colours additions green and removals red. */
const patchLine = (line: string): Row => [
  {
    text: `${VALUE_INDENT}${line}`,
    style: line.startsWith("+") ? "green" : line.startsWith("-") ? "red" : undefined
  }
]

/** Lines of the request, without the commands. */
export const approvalLines = (request: ApprovalRequest): ReadonlyArray<Row> => {
  const { action, risk, title, command, cwd, files, url, reason, patch, input } = request
  const isExplained = command !== undefined || patch !== undefined || url !== undefined
  return [
    [
      { text: "approval needed", style: ["bold", "yellow"] },
      { text: ": " },
      { text: escapeLine(title), style: "bold" }
    ],
    [{ text: `  action: ${action}, risk: ` }, { text: risk, style: riskTint[risk] }],
    ...field("command", command),
    ...names("folder", cwd === undefined ? [] : [cwd]),
    ...names("files", files),
    ...names("url", url === undefined ? [] : [url]),
    ...field("reason", reason),
    ...(patch === undefined ? [] : [[{ text: "  patch:" }], ...linesOf(patch).map(patchLine)]),
    // The tool input is shown only if no other field describes the action.
    ...(isExplained || input === undefined ? [] : field("input", JSON.stringify(input, undefined, 2)))
  ]
}

/** Formats the block. The last line ends with a newline. */
export const approvalBlock = ({
  approvalId,
  request,
  expiresAt,
  invocation,
  named,
  paint
}: ApprovalBlockOptions): string =>
  [
    ...approvalLines(request).map((line) => paintRow(line, paint)),
    paint("dim", `  ${approvalId}, expires ${localTime(expiresAt)}`),
    paint(
      "dim",
      `  from another terminal: ${invocation} approve ${approvalId}${named}   or: ${invocation} deny ${approvalId}${named}`
    ),
    ""
  ].join("\n")
