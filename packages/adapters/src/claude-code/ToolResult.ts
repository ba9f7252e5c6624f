/**
 * Result of a tool call of Claude Code: its status and text, and the files that it read or changed.
 */
import { draft, type PayloadOf } from "@corral/domain/run/RunEvent"
import type { AdapterEvent } from "@corral/domain/run/RuntimeAdapter"
import { arrayOf, countOf, isJsonObject, objectOf, textOf, type JsonObject } from "../text/Json.ts"
import { isFileBlock } from "./ResultContent.ts"
import { replacement, unifiedDiff, type Hunk } from "../text/UnifiedDiff.ts"
import type { Relative } from "../files/RelativePath.ts"

/** The text of a result: a string, or the text blocks of a list. Blocks that become files are no text. */
export const readResultOutput = (content: unknown): string | undefined => {
  if (typeof content === "string") return content
  if (!Array.isArray(content)) return undefined
  const texts = content
    .map(objectOf)
    .filter((block) => !isFileBlock(block))
    .map(({ text, type }) => textOf(text) ?? (typeof type === "string" ? `[${type}]` : ""))
  return texts.length === 0 && content.length > 0 ? undefined : texts.join("\n")
}

/** Status of a result. `meta` says whether and why the call was not executed. */
export const statusOf = (isFailed: boolean, meta: JsonObject): PayloadOf<"run.tool.result">["status"] => {
  if (!isFailed) return "completed"
  if (objectOf(meta["permission_decision"])["decision"] === "reject") return "denied"
  // Rejected without a decision: the turn was interrupted.
  return meta["non_execution_kind"] === "user-rejected" ? "cancelled" : "failed"
}

/** Exit code at the start of a failed command's output. */
export const parseExitCode = (output: string | undefined): number | undefined => {
  const code = /^Exit code (\d{1,3})\b/.exec(output ?? "")?.[1]
  return code === undefined ? undefined : Number(code)
}

const isHunk = (value: unknown): value is Hunk =>
  isJsonObject(value) &&
  ["oldStart", "oldLines", "newStart", "newLines"].every((key) => countOf(value[key]) !== undefined) &&
  arrayOf(value["lines"]).every((line) => typeof line === "string")

const writes: ReadonlySet<string> = new Set(["Edit", "MultiEdit", "NotebookEdit", "Write"])
export const isWrite = (tool: string): boolean => writes.has(tool)

/** The file that a call read or changed, from its input and the text of its result. */
export const fileEventsOfInput = (
  tool: string,
  input: JsonObject,
  output: string | undefined,
  call: { readonly callId: string; readonly parentCallId?: string },
  relative: Relative
): ReadonlyArray<AdapterEvent> => {
  const file = textOf(input["file_path"])
  if (file === undefined) return []
  const path = relative(file)
  if (tool === "Read") return [draft("run.file.read", { path, ...call })]
  if (!isWrite(tool)) return []
  const change = output?.startsWith("File created") === true ? "created" : "modified"
  return [draft("run.file.changed", { path, change, ...call })]
}

/** Files that a call read or changed, from the structured part of its result. */
export const fileEventsOfResult = (
  tool: string | undefined,
  structured: unknown,
  call: { readonly callId: string; readonly parentCallId?: string },
  relative: Relative
): ReadonlyArray<AdapterEvent> => {
  if (!isJsonObject(structured)) return []
  const read = textOf(objectOf(structured["file"])["filePath"])
  if (tool === "Read" && read !== undefined)
    return [draft("run.file.read", { path: relative(read), ...call })]
  const changed = textOf(structured["filePath"])
  if (changed === undefined || !Array.isArray(structured["structuredPatch"])) return []
  const path = relative(changed)
  const isNew = structured["type"] === "create"
  const reported = structured["structuredPatch"].filter(isHunk)
  // A new file comes with no hunks: all of its text is new.
  const hunks =
    reported.length === 0 && isNew ? [replacement("", textOf(structured["content"]) ?? "")] : reported
  return [
    draft("run.patch.proposed", { path, patch: unifiedDiff(path, hunks, isNew), ...call }),
    draft("run.file.changed", { path, change: isNew ? "created" : "modified", ...call })
  ]
}
