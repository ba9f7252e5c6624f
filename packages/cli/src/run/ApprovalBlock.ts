/**
 * Text of an approval: the complete request, and the commands that decide it from another terminal.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { Paint } from "../terminal/Paint.ts"
import { escapeControls, escapeLine } from "../terminal/VisibleText.ts"

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

/** One labelled value. A value with several lines starts below its label. */
const field = (label: string, value: string | undefined): ReadonlyArray<string> => {
  if (value === undefined || value === "") return []
  const text = escapeControls(value).replace(/\n$/, "")
  return text.includes("\n") ? [`  ${label}:`, indent(text)] : [`  ${label}: ${text}`]
}

const indent = (text: string): string => text.replaceAll(/^/gm, "    ")

/** Colours additions green and removals red. */
const paintPatch = (patch: string, paint: Paint): string =>
  escapeControls(patch)
    .replace(/\n$/, "")
    .split("\n")
    .map((line) =>
      line.startsWith("+") ? paint("green", line) : line.startsWith("-") ? paint("red", line) : line
    )
    .join("\n")

/** Formats the block. The last line ends with a newline. */
export const approvalBlock = ({
  approvalId,
  request,
  expiresAt,
  invocation,
  named,
  paint
}: ApprovalBlockOptions): string => {
  const { action, risk, title, command, cwd, files, url, reason, patch, input } = request
  const isExplained = command !== undefined || patch !== undefined || url !== undefined
  return [
    `${paint(["bold", "yellow"], "approval needed")}: ${paint("bold", escapeLine(title))}`,
    `  action: ${action}, risk: ${paint(riskTint[risk], risk)}`,
    ...field("command", command),
    ...field("folder", cwd),
    ...field("files", files?.join("\n")),
    ...field("url", url),
    ...field("reason", reason),
    ...(patch === undefined ? [] : ["  patch:", indent(paintPatch(patch, paint))]),
    // The tool input is shown only if no other field describes the action.
    ...(isExplained || input === undefined ? [] : field("input", JSON.stringify(input, undefined, 2))),
    paint("dim", `  ${approvalId}, expires ${expiresAt}`),
    paint(
      "dim",
      `  from another terminal: ${invocation} approve ${approvalId}${named}   or: ${invocation} deny ${approvalId}${named}`
    ),
    ""
  ].join("\n")
}
