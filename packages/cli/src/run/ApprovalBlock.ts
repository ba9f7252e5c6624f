/**
 * An approval as a person reads it before deciding: exactly what would happen, whole, and how to decide from elsewhere.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { Paint } from "../terminal/Paint.ts"
import { escapeControls, escapeLine } from "../terminal/VisibleText.ts"

export interface ApprovalBlockOptions {
  readonly approvalId: string
  readonly request: ApprovalRequest
  readonly expiresAt: string
  readonly invocation: string
  /** Flags that name where the run is, each after a space. */
  readonly named: string
  readonly paint: Paint
}

const riskTint = { low: "green", medium: "yellow", high: "red" } as const

/** One labelled value; what has several lines stands below its label. */
const field = (label: string, value: string | undefined): ReadonlyArray<string> => {
  if (value === undefined || value === "") return []
  const text = escapeControls(value).replace(/\n$/, "")
  return text.includes("\n") ? [`  ${label}:`, indent(text)] : [`  ${label}: ${text}`]
}

const indent = (text: string): string => text.replaceAll(/^/gm, "    ")

/** Additions green, removals red, as any diff. */
const paintPatch = (patch: string, paint: Paint): string =>
  escapeControls(patch)
    .replace(/\n$/, "")
    .split("\n")
    .map((line) =>
      line.startsWith("+") ? paint("green", line) : line.startsWith("-") ? paint("red", line) : line
    )
    .join("\n")

/** The lines of the block, with a line end after the last. */
export const approvalBlock = ({
  approvalId,
  request,
  expiresAt,
  invocation,
  named,
  paint
}: ApprovalBlockOptions): string => {
  const { action, risk, title, command, cwd, files, url, reason, patch, input } = request
  const told = command !== undefined || patch !== undefined || url !== undefined
  return [
    `${paint(["bold", "yellow"], "approval needed")}: ${paint("bold", escapeLine(title))}`,
    `  action: ${action}, risk: ${paint(riskTint[risk], risk)}`,
    ...field("command", command),
    ...field("folder", cwd),
    ...field("files", files?.join("\n")),
    ...field("address", url),
    ...field("reason", reason),
    ...(patch === undefined ? [] : ["  patch:", indent(paintPatch(patch, paint))]),
    // Where nothing of the above says it, the runtime's own input does.
    ...(told || input === undefined ? [] : field("input", JSON.stringify(input, undefined, 2))),
    paint("dim", `  ${approvalId}, expires ${expiresAt}`),
    paint(
      "dim",
      `  from elsewhere: ${invocation} approve ${approvalId}${named}   or: ${invocation} deny ${approvalId}${named}`
    ),
    ""
  ].join("\n")
}
