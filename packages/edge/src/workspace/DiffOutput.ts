/**
 * Parser of git's output for the difference of two trees. Names are read from the formats that end each name with a zero byte. Sections of a
 * patch are matched to files by their order, so that no quoted name is parsed.
 */
import { type DiffHunk, FileDiff } from "@corral/domain/edge-api/Diff"
import { Struct } from "effect"
import { splitZeroTerminated } from "./ShadowRepository.ts"

/** A file that differs, without its hunks. */
export const ChangedFile = FileDiff.mapFields(Struct.omit(["hunks", "truncated"]))
export type ChangedFile = typeof ChangedFile.Type

const statuses = { A: "added", D: "deleted", R: "renamed", M: "modified", T: "modified" } as const

const statusOf = (letter: string): ChangedFile["status"] =>
  letter in statuses ? statuses[letter as keyof typeof statuses] : "modified"

/** Parses the output of `git diff-tree -r -z -M --raw --numstat`: a record per file, then the counts in the same order. */
export const readChanges = (bytes: Buffer): ReadonlyArray<ChangedFile> => {
  const fields = splitZeroTerminated(bytes)
  const found: Array<Pick<ChangedFile, "path" | "fromPath" | "status">> = []
  let at = 0
  while (fields[at]?.startsWith(":") === true) {
    const status = statusOf(fields[at]?.split(" ")[4]?.[0] ?? "M")
    const [one = "", two = ""] = [fields[at + 1], fields[at + 2]]
    found.push(status === "renamed" ? { path: two, fromPath: one, status } : { path: one, status })
    at += status === "renamed" ? 3 : 2
  }
  return found.map((file) => {
    const [additions = "0", deletions = "0"] = fields[at]?.split("\t") ?? []
    at += file.status === "renamed" ? 3 : 1
    const binary = additions === "-"
    return {
      ...file,
      binary,
      additions: binary ? 0 : Number(additions),
      deletions: binary ? 0 : Number(deletions)
    }
  })
}

const HEADER = "diff --git "
const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/

/** Hunks of each section of a patch, in order. Lines of a hunk begin with a space, `+`, `-` or `\`, unlike headers. */
export const readPatch = (patch: string): ReadonlyArray<ReadonlyArray<DiffHunk>> => {
  const sections: Array<Array<DiffHunk>> = []
  let lines: Array<string> | undefined
  for (const line of patch.split("\n")) {
    if (line.startsWith(HEADER)) {
      sections.push([])
      lines = undefined
      continue
    }
    const [, oldStart, oldLines = "1", newStart, newLines = "1"] = HUNK.exec(line) ?? []
    if (oldStart !== undefined) {
      lines = []
      sections.at(-1)?.push({
        oldStart: Number(oldStart),
        oldLines: Number(oldLines),
        newStart: Number(newStart),
        newLines: Number(newLines),
        lines
      })
    } else if (lines !== undefined && /^[ +\-\\]/.test(line)) {
      lines.push(line)
    }
  }
  return sections
}
