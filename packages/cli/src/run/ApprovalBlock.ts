/**
 * Text of an approval: the complete request, and the commands that decide it from another terminal.
 *
 * Guarantees: no text of an agent begins a line of the block. Lines of a longer text are indented further than the labels.
 */
import { VALUE_INDENT } from "../terminal/Indent.ts"
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { Paint } from "../terminal/Paint.ts"
import { localTime } from "../terminal/ShownTime.ts"
import { escapeControls, escapeLine } from "../terminal/VisibleText.ts"
import { paintRow, type Row } from "../terminal/WrapText.ts"

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
