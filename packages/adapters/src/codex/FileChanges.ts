/**
 * The files of a patch as Codex reports them: paths of the workspace, the kind of each change, and its diff if there is one.
 */
import { draft, type PayloadOf } from "@corral/domain/run/RunEvent"
import type { AdapterEvent } from "@corral/domain/run/RuntimeAdapter"
import { arrayOf, defined, isJsonObject, objectOf, textOf, type JsonObject } from "../text/Json.ts"
import type { Relative } from "../files/RelativePath.ts"
import { textLinesOf, replacement, unifiedDiff } from "../text/UnifiedDiff.ts"

export interface FileChange {
  readonly path: string
  readonly change: PayloadOf<"run.file.changed">["change"]
  readonly fromPath?: string
  readonly patch?: string
}

const removal = (path: string, content: string): string => {
  const lines = textLinesOf(content)
  const hunk = lines.length === 0 ? [] : [`@@ -1,${lines.length} +0,0 @@`, ...lines.map((line) => `-${line}`)]
  return [`--- a/${path}`, "+++ /dev/null", ...hunk, ""].join("\n")
}

/** The report has the content of a new or deleted file, and the hunks of any other file, with its new path below them. */
const patchOf = (kind: string, from: string, to: string, diff: string): string => {
  if (kind === "add") return unifiedDiff(to, [replacement("", diff)], true)
  if (kind === "delete") return removal(from, diff)
  const hunks = diff.replace(/\n\nMoved to: [^\n]*$/, "")
  return `--- a/${from}\n+++ b/${to}\n${hunks}${hunks === "" || hunks.endsWith("\n") ? "" : "\n"}`
}

const changeOf = (change: JsonObject, relative: Relative): FileChange | undefined => {
  const named = textOf(change["path"])
  if (named === undefined) return undefined
  const kind = textOf(change["kind"]) ?? textOf(objectOf(change["kind"])["type"]) ?? "update"
  const from = relative(named)
  const moved = textOf(objectOf(change["kind"])["move_path"])
  const path = moved === undefined ? from : relative(moved)
  const diff = textOf(change["diff"])
  const plain = kind === "add" ? "created" : kind === "delete" ? "deleted" : "modified"
  return {
    path,
    change: path === from ? plain : "renamed",
    ...(path === from ? {} : { fromPath: from }),
    ...defined({ patch: diff === undefined ? undefined : patchOf(kind, from, path, diff) })
  }
}

/** Changes of a list. Entries without a file are ignored. */
export const changesOf = (value: unknown, relative: Relative): ReadonlyArray<FileChange> => {
  const changes: Array<FileChange> = []
  for (const entry of arrayOf(value)) {
    const change = isJsonObject(entry) ? changeOf(entry, relative) : undefined
    if (change !== undefined) changes.push(change)
  }
  return changes
}

const FIELDS = new Set(["path", "kind", "diff"])
const KINDS = ["add", "delete", "update"]

const isFullyNamed = (change: JsonObject): boolean => {
  const kind: JsonObject = isJsonObject(change["kind"])
    ? change["kind"]
    : { type: change["kind"] ?? "update" }
  const { move_path: move = null, type, ...more } = kind
  const diff = change["diff"] ?? ""
  if (typeof change["path"] !== "string" || typeof diff !== "string") return false
  const moved = /\n\nMoved to: ([^\n]*)$/.exec(diff)?.[1]
  return (
    Object.keys(change).every((name) => FIELDS.has(name)) &&
    Object.keys(more).length === 0 &&
    KINDS.includes(textOf(type) ?? "") &&
    (move === null || typeof move === "string") &&
    (moved === undefined || type !== "update" || moved === move)
  )
}

/** Whether a list of changes names every file that it touches. */
export const areChangesComplete = (value: unknown): boolean =>
  Array.isArray(value) && value.every((change) => isJsonObject(change) && isFullyNamed(change))

/** Files of the changes, with both names of a moved file. */
export const filesInChanges = (changes: ReadonlyArray<FileChange>): ReadonlyArray<string> => [
  ...new Set(changes.flatMap(({ fromPath, path }) => (fromPath === undefined ? [path] : [fromPath, path])))
]

/** Events of an applied patch. */
export const appliedEvents = (
  changes: ReadonlyArray<FileChange>,
  call: { readonly callId: string; readonly parentCallId?: string }
): ReadonlyArray<AdapterEvent> =>
  changes.flatMap(({ patch, path, change, fromPath }) => [
    ...(patch === undefined ? [] : [draft("run.patch.proposed", { path, patch, ...call })]),
    draft("run.file.changed", { path, change, ...defined({ fromPath }), ...call })
  ])

/** Number of files, added and deleted lines of a unified diff, counted by its hunks. */
export const measureDiff = (
  diff: string
): { readonly files: number; readonly additions: number; readonly deletions: number } => {
  let [files, additions, deletions, before, after] = [0, 0, 0, 0, 0]
  for (const line of diff.split("\n")) {
    if (before > 0 || after > 0) {
      if (line.startsWith("+")) additions++
      else if (line.startsWith("-")) deletions++
      if (!line.startsWith("+") && !line.startsWith("\\")) before--
      if (!line.startsWith("-") && !line.startsWith("\\")) after--
      continue
    }
    if (line.startsWith("diff --git ")) files++
    const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line)
    if (hunk !== null) [before, after] = [Number(hunk[1] ?? 1), Number(hunk[2] ?? 1)]
  }
  return { files, additions, deletions }
}
