/**
 * Files of a run that its approvals name: files of a write, and words and redirections of a command. Each approval covers one change of a file; one
 * that is remembered covers all. Also the content of a file after an approved action, from what a user saw: the whole content, texts with their
 * replacements, or a patch.
 *
 * Guarantees: a patch is about this file alone, and each of its lines is used: every removed and unchanged line is in the file where the patch
 * says. A patch of one part without its true position counts if its old lines are in the file once. Otherwise the content is not known.
 *
 * Does not: know what a command writes besides the files that it names, understand an input with other fields that say what to write, tolerate
 * other white space, or delete and rename files. Such a change has no known content.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { ApprovalAnswer } from "@corral/domain/run/RuntimeAdapter"
import { isJsonObject } from "@corral/domain/text/JsonObject"
import type { RequestPaths, WorkspacePaths } from "../approval/PathTarget.ts"
import { inFolder, segmentsOf } from "../approval/ShellCommand.ts"

/** Files that are remembered. Beyond it, changes are reported although an approval names them. */
const MAX_FILES = 10_000

const namedByCommand = (command: string, cwd: string, look: RequestPaths): ReadonlyArray<string> =>
  segmentsOf(command).flatMap(({ cwd: inside, words, writes }) => {
    if (inside === undefined) return []
    const folder = inFolder(cwd, inside)
    return [...words, ...writes.map(({ file }) => file)].flatMap((word) => {
      const target = look.targetOf(word, folder)
      return target._tag === "Inside" ? [target.path] : []
    })
  })

export interface ApprovedFilesState {
  readonly once: ReadonlyArray<string>
  readonly always: ReadonlyArray<string>
}

export class ApprovedFiles {
  readonly #place: WorkspacePaths
  readonly #once = new Set<string>()
  readonly #always = new Set<string>()

  constructor(place: WorkspacePaths) {
    this.#place = place
  }

  get state(): ApprovedFilesState {
    return { once: [...this.#once], always: [...this.#always] }
  }

  restore({ always, once }: ApprovedFilesState): void {
    for (const path of once) this.#once.add(path)
    for (const path of always) this.#always.add(path)
  }

  /** Adds the files of an allowed request. */
  allow({ command, cwd = ".", files = [] }: ApprovalRequest, { decision, scope }: ApprovalAnswer): void {
    if (decision !== "allow" || this.#once.size + this.#always.size >= MAX_FILES) return
    const look = this.#place.look()
    const named = files.flatMap((file) => {
      const target = look.targetOf(file)
      return target._tag === "Inside" ? [target.path] : []
    })
    const ofCommand = command === undefined ? [] : namedByCommand(command, cwd, look)
    for (const path of [...named, ...ofCommand]) (scope === "once" ? this.#once : this.#always).add(path)
  }

  covers(path: string): boolean {
    return this.#once.has(path) || this.#always.has(path)
  }

  /** Files whose next change is covered once. */
  get once(): ReadonlySet<string> {
    return new Set(this.#once)
  }

  /** Their change was seen. */
  use(paths: Iterable<string>): void {
    for (const path of paths) this.#once.delete(path)
  }
}

const HUNK = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@/
const WITHOUT_NEWLINE = "\\"

/** Lines with their ends. The last one may have none. */
const linesOf = (text: string): ReadonlyArray<string> => text.match(/[^\n]*\n|[^\n]+/g) ?? []

interface Hunk {
  /** Lines of the file before the hunk. */
  readonly start: number
  readonly oldLines: ReadonlyArray<string>
  readonly newLines: ReadonlyArray<string>
  /** Index of the line after the hunk. */
  readonly end: number
}

const readHunk = (lines: ReadonlyArray<string>, at: number): Hunk | undefined => {
  const [, start, oldCount = "1", , newCount = "1"] = HUNK.exec(lines[at] ?? "") ?? []
  if (start === undefined) return undefined
  const [wantedOld, wantedNew] = [Number(oldCount), Number(newCount)]
  const [oldLines, newLines]: [Array<string>, Array<string>] = [[], []]
  let next = at + 1
  while (oldLines.length < wantedOld || newLines.length < wantedNew) {
    const line = lines[next++]
    const kind = line?.[0]
    if (line === undefined || (kind !== " " && kind !== "-" && kind !== "+")) return undefined
    const hasNewline = lines[next]?.startsWith(WITHOUT_NEWLINE) !== true
    if (!hasNewline) next++
    const text = `${line.slice(1)}${hasNewline ? "\n" : ""}`
    if (kind !== "+") oldLines.push(text)
    if (kind !== "-") newLines.push(text)
  }
  if (oldLines.length !== wantedOld || newLines.length !== wantedNew) return undefined
  // A hunk without old lines names the line that it follows.
  return { start: Number(start) - (wantedOld === 0 ? 0 : 1), oldLines, newLines, end: next }
}

const readHunks = (lines: ReadonlyArray<string>): ReadonlyArray<Hunk> | undefined => {
  const hunks: Array<Hunk> = []
  for (let at = 2; at < lines.length;) {
    const hunk = readHunk(lines, at)
    if (hunk === undefined) return undefined
    hunks.push(hunk)
    at = hunk.end
  }
  return hunks.length === 0 ? undefined : hunks
}

/** `undefined` if a hunk does not fit where it says. */
const appliedInPlace = (old: ReadonlyArray<string>, hunks: ReadonlyArray<Hunk>): string | undefined => {
  const parts: Array<string> = []
  let used = 0
  for (const { newLines, oldLines, start } of hunks) {
    if (start < used || start > old.length) return undefined
    if (!oldLines.every((line, index) => old[start + index] === line)) return undefined
    parts.push(...old.slice(used, start), ...newLines)
    used = start + oldLines.length
  }
  parts.push(...old.slice(used))
  // Only the last line of a file has no end.
  return parts.slice(0, -1).every((line) => line.endsWith("\n")) ? parts.join("") : undefined
}

/** `undefined` if the old lines are missing, or in the file more than once. */
const appliedOnce = (text: string, { newLines, oldLines }: Hunk): string | undefined => {
  // Whole lines, so the text of both begins after an end and has one.
  if (![oldLines, newLines].every((lines) => lines.at(-1)?.endsWith("\n") !== false)) return undefined
  if (oldLines.length === 0) return undefined
  const [whole, wanted] = [`\n${text}`, `\n${oldLines.join("")}`]
  const at = whole.indexOf(wanted)
  // The next place may begin with the end of this one.
  if (at === -1 || whole.includes(wanted, at + 1)) return undefined
  return `${whole.slice(0, at)}\n${newLines.join("")}${whole.slice(at + wanted.length)}`.slice(1)
}

/** `before`: the content so far; `undefined` if the file does not exist. The result is `undefined` if it is not known. */
export const patchedContent = (
  patch: string,
  path: string,
  before: string | undefined
): string | undefined => {
  // One that is cut has no end.
  if (!patch.endsWith("\n")) return undefined
  const lines = patch.slice(0, -1).split("\n")
  const from = before === undefined ? "--- /dev/null" : `--- a/${path}`
  if (lines[0] !== from || lines[1] !== `+++ b/${path}`) return undefined
  const hunks = readHunks(lines)
  if (hunks === undefined) return undefined
  const inPlace = appliedInPlace(linesOf(before ?? ""), hunks)
  const [hunk, ...others] = hunks
  const isAlone = hunk !== undefined && others.length === 0
  return inPlace ?? (isAlone && before !== undefined ? appliedOnce(before, hunk) : undefined)
}

/** Largest file that is written this way, in characters. */
export const MAX_CONTENT = 1_048_576
const MAX_EDITS = 100

const WHOLE = ["content", "file_text"]
const BEFORE = ["old_string", "old_str", "oldString", "oldText"]
const AFTER = ["new_string", "new_str", "newString", "newText"]
const ALL = ["replace_all", "replaceAll"]
/** Other fields that say what to write. */
const OTHER = [
  "insert_text",
  "insert_line",
  "diff",
  "patch",
  "new_source",
  "ai_proposed_content",
  "instruction"
]

type Input = Readonly<Record<string, unknown>>

const fieldOf = (input: Input, names: ReadonlyArray<string>): unknown =>
  names.map((name) => input[name]).find((value) => value !== undefined && value !== null)

/** The text after one replacement. `undefined` if the text to replace is missing, or is there more than once and not all are meant. */
const replaced = (text: string | undefined, edit: Input): string | undefined => {
  const [before, after] = [fieldOf(edit, BEFORE), fieldOf(edit, AFTER)]
  if (typeof before !== "string" || typeof after !== "string") return undefined
  // An edit of nothing makes the file.
  if (before === "") return (text ?? "") === "" ? after : undefined
  const parts = text?.split(before) ?? []
  const isClear = parts.length === 2 || (parts.length > 2 && fieldOf(edit, ALL) === true)
  return isClear ? parts.join(after) : undefined
}

/** `before`: the content so far; `undefined` if the file does not exist. The result is `undefined` if it is not known. */
export const approvedContent = (input: unknown, before: string | undefined): string | undefined => {
  if (!isJsonObject(input) || fieldOf(input, OTHER) !== undefined) return undefined
  const [whole, edits] = [fieldOf(input, WHOLE), input["edits"]]
  const isReplacing = fieldOf(input, BEFORE) !== undefined
  if ([whole !== undefined, edits !== undefined, isReplacing].filter(Boolean).length !== 1) return undefined
  let content = before
  if (whole !== undefined) content = typeof whole === "string" ? whole : undefined
  else if (isReplacing) content = replaced(before, input)
  else {
    if (!Array.isArray(edits) || edits.length === 0 || edits.length > MAX_EDITS) return undefined
    for (const edit of edits as ReadonlyArray<unknown>) {
      content = isJsonObject(edit) ? replaced(content, edit) : undefined
      if (content === undefined || content.length > MAX_CONTENT) return undefined
    }
  }
  return content !== undefined && content.length <= MAX_CONTENT ? content : undefined
}
