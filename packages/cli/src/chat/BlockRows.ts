/**
 * Rows of a display block in a chat, wrapped to the terminal. All text of an agent passes `escapeControls`.
 *
 * Messages are not here: they stream (`TurnRows`).
 */
import { firstCharacters } from "@corral/domain/text/Cut"
import { inputChanges, inputText } from "@corral/domain/approval/InputEdit"
import { refusalHint } from "@corral/domain/run/ConfinementText"
import type {
  ApprovalBlock,
  EndBlock,
  FileBlock,
  InputBlock,
  RunBlock,
  ToolBlock
} from "@corral/domain/run/RunBlock"
import { inputResolutionLine, requestLines } from "../question/QuestionLines.ts"
import { approvalLines } from "../run/ApprovalBlock.ts"
import {
  fitColumns,
  type Row,
  type TextSpan,
  VALUE_INDENT,
  wrapIndented,
  wrapSpans
} from "../terminal/Rows.ts"
import {
  contentLines,
  leftOutText,
  pauseLine,
  protectedLine,
  repositoryLine,
  resolutionLine,
  retryLine,
  unknownChangesLine,
  usageLine
} from "../run/EventLines.ts"
import { ENDS_WITH_EDGE } from "@corral/domain/run/RunEnd"
import { escapeControls, escapeLine } from "../terminal/VisibleText.ts"

type Rows = ReadonlyArray<Row>

/** What rows of a block depend on besides the block. */
export interface RowContext {
  readonly columns: number
  /** Name of a user, by the id that events have. */
  readonly nameOf: (user: string) => string
  /** Whether the run writes into a worktree or a layer: what it changed waits for a decision. */
  readonly isIsolated?: boolean
}

const marks = { completed: "✓", failed: "✗", denied: "✗", cancelled: "–" } as const
const tints = { completed: "green", failed: "red", denied: "yellow", cancelled: "dim" } as const
const SHOWN_OUTPUT = 6
/** Longest line of output that is wrapped. */
const MAX_LINE = 2_000

const oneRow = (text: string, columns: number, style?: TextSpan["style"]): Rows => [
  [{ text: fitColumns(text, columns), style }]
]

const more: Row = [{ text: `${VALUE_INDENT}…`, style: "dim" }]

const dimRows = (lines: ReadonlyArray<string>, columns: number): Rows =>
  lines.flatMap((line) =>
    wrapIndented(
      [{ text: firstCharacters(line, MAX_LINE), style: "dim" }],
      columns,
      [{ text: VALUE_INDENT }],
      undefined,
      "anywhere"
    )
  )

/** First lines of a text, indented and dimmed. */
export const excerptRows = (text: string, columns: number, shown: number): Rows => {
  const lines = escapeControls(text).trimEnd().split("\n")
  const rows = dimRows(lines.slice(0, shown), columns)
  return lines.length <= shown && rows.length <= shown ? rows : [...rows.slice(0, shown), more]
}

/** Last lines of an output: a program says at its end why it failed. */
const outputRows = (text: string, columns: number): Rows => {
  const lines = escapeControls(text).trimEnd().split("\n")
  const rows = dimRows(lines.slice(-SHOWN_OUTPUT), columns)
  const isWhole = lines.length <= SHOWN_OUTPUT && rows.length <= SHOWN_OUTPUT
  return isWhole ? rows : [more, ...rows.slice(-SHOWN_OUTPUT)]
}

export const labelOf = ({ allowedInput, label, tool }: ToolBlock): string =>
  `${escapeLine(label === "" ? tool : label)}${allowedInput === undefined ? "" : " (edited)"}`

const toolRows = (block: ToolBlock, columns: number): Rows => {
  const { content, exitCode, kernelRefusal, output, status } = block
  if (status === "started") return []
  const code = exitCode === undefined || exitCode === 0 ? "" : `, exit code ${exitCode}`
  const label = fitColumns(labelOf(block), columns - 2 - code.length)
  const head: Row = [{ text: marks[status], style: tints[status] }, { text: ` ${label}${code}` }]
  const isExplained = status === "failed" && output !== undefined && output.text.trim() !== ""
  const hint =
    kernelRefusal === undefined ? [] : excerptRows(refusalHint(kernelRefusal), columns, SHOWN_OUTPUT)
  const parts = contentLines(content).flatMap((line) => oneRow(`${VALUE_INDENT}${line}`, columns))
  return [head, ...(isExplained ? outputRows(output.text, columns) : []), ...parts, ...hint]
}

const fileRows = ({ change, fromPath, path }: FileBlock, columns: number): Rows => {
  if (change === "read") return []
  const from = fromPath === undefined ? "" : `${escapeLine(fromPath)} → `
  return oneRow(`  ${change} ${from}${escapeLine(path)}`, columns)
}

/** Request of an approval, whole: a decision needs all of it. */
export const requestRows = ({ request }: ApprovalBlock, columns: number): Rows =>
  approvalLines(request).flatMap((line) => wrapIndented(line, columns, [], [{ text: `${VALUE_INDENT}  ` }]))

/** A question, a form or a plan, whole: an answer needs all of it. */
export const inputRows = ({ request }: InputBlock, columns: number): Rows =>
  requestLines(request).flatMap((line) => wrapIndented(line, columns, [], [{ text: `${VALUE_INDENT}  ` }]))

export const inputResolutionRows = (
  { request, resolution }: InputBlock,
  { columns, nameOf }: RowContext
): Rows =>
  resolution === undefined ? [] : wrapSpans(inputResolutionLine(request, resolution, nameOf), columns)

/** One side of an edited field. */
const side = (name: string, value: unknown, columns: number): Rows =>
  wrapIndented(
    [{ text: `${escapeLine(name)}: ${value === undefined ? "(nothing)" : escapeLine(inputText(value))}` }],
    columns,
    [{ text: "  " }],
    [{ text: VALUE_INDENT }]
  )

export const resolutionRows = (
  { request, resolution }: ApprovalBlock,
  { columns, nameOf }: RowContext
): Rows => {
  if (resolution === undefined) return []
  const { allowedInput } = resolution
  const changes = allowedInput === undefined ? [] : inputChanges(request.input, allowedInput)
  return [
    ...wrapSpans(resolutionLine(resolution, nameOf), columns),
    ...changes.flatMap(({ allowed, name, requested }) => [
      ...side(`requested ${name.trim()}`, requested, columns),
      ...side(`allowed ${name.trim()}`, allowed, columns)
    ])
  ]
}

const endRows = (block: EndBlock, { columns, nameOf }: RowContext): Rows => {
  const { by, error, reason, state, stopped = [], usage } = block
  if (state === "completed") {
    const used = usageLine(usage)
    const ended = stopped.length === 0 ? "" : `finished; stopped: ${stopped.map(escapeLine).join(", ")}`
    return [ended, used].filter((text) => text !== "").flatMap((text) => oneRow(text, columns, "dim"))
  }
  if (state === "cancelled") {
    const who = by === undefined ? "" : ` by ${escapeLine(nameOf(by))}`
    const why = by !== undefined || reason === undefined ? "" : `: ${escapeLine(reason)}`
    return wrapSpans([{ text: "stopped", style: "yellow" }, { text: `${who}${why}` }], columns)
  }
  const code = error === undefined ? "" : ` (${escapeLine(error.code)})`
  return wrapSpans(
    [
      { text: "failed", style: "red" },
      { text: `: ${escapeLine(error?.message ?? "no reason was reported")}` },
      { text: code, style: "dim" }
    ],
    columns
  )
}

const warningRow = (text: string, columns: number): Rows => wrapSpans([{ text, style: "yellow" }], columns)

/** Rows of a settled block. None for blocks that say what another block says. */
export const blockRows = (block: RunBlock, context: RowContext): Rows => {
  const { columns } = context
  switch (block.kind) {
    case "tool":
      return toolRows(block, columns)
    case "file":
      return fileRows(block, columns)
    case "diff": {
      const { additions, deletions, files, leftOut } = block
      const changed = `${files} ${files === 1 ? "file" : "files"} changed, +${additions} −${deletions}`
      return oneRow(
        `  ${changed}${leftOutText(leftOut)} · /${context.isIsolated === true ? "changes" : "diff"}`,
        columns
      )
    }
    case "unknown_changes":
      return warningRow(unknownChangesLine(block), columns)
    case "artifact":
      return oneRow(`  artifact ${escapeLine(block.name)} (${block.size} bytes)`, columns)
    case "preview":
      return oneRow(`  preview ${escapeLine(block.title)}`, columns)
    case "warning":
      return block.isRepeated ? [] : warningRow(escapeLine(block.message), columns)
    case "protected":
      return warningRow(protectedLine(block.changes), columns)
    case "repository":
      return warningRow(repositoryLine(block.change), columns)
    case "retry":
      return warningRow(retryLine(block.retry), columns)
    case "pause":
      return wrapSpans(pauseLine(block, context.nameOf), columns)
    case "start": {
      const { confinementFailure, endsWithEdge, projectSettings } = block
      const warnings = [
        ...(confinementFailure === undefined ? [] : [`not confined: ${escapeLine(confinementFailure)}`]),
        ...(endsWithEdge ? [ENDS_WITH_EDGE] : [])
      ].flatMap((warning) => warningRow(warning, columns))
      if (projectSettings === undefined) return warnings
      const files = escapeLine(projectSettings.files.join(", "))
      const settings: TextSpan = { text: `project settings ${projectSettings.use}: ${files}`, style: "dim" }
      return [...warnings, ...wrapSpans([settings], columns)]
    }
    case "end":
      return endRows(block, context)
    case "gap":
      return warningRow(`Events ${block.from} to ${block.to} are no longer available.`, columns)
    case "approval":
      return requestRows(block, columns)
    case "input":
      return inputRows(block, columns)
    case "work":
      return oneRow(`  in the background: ${escapeLine(block.title)}`, columns, "dim")
    case "turn":
      return block.by === "program" ? oneRow("the agent continues", columns, "dim") : []
    case "notice":
      return warningRow(escapeLine(block.notice.text), columns)
    // The approval shows the patch, messages stream, and lists of steps are printed as they change.
    case "patch":
    case "steps":
    case "message":
      return []
  }
}
