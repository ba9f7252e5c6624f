/**
 * Three-way merge of contents and modes, by git.
 *
 * Does not: merge binary files or links.
 */
import { Effect } from "effect"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { attemptFiles, type GitFailed } from "../workspace/Git.ts"
import type { ShadowRepository } from "../workspace/ShadowRepository.ts"

/** Versions of a file: the common one, the one that is there, and the other one. */
export interface MergeSides {
  readonly base: Buffer
  readonly ours: Buffer
  readonly theirs: Buffer
}

export interface MergedContent {
  readonly content: Buffer
  readonly hasConflict: boolean
}

/** As far as git looks for a zero byte. */
const TEXT_BYTES = 8_000
/** Largest version that is merged. */
const MAX_MERGED = 33_554_432
/** Exit codes up to this are numbers of conflicts. */
const MAX_CONFLICTS = 127

export const isText = (content: Buffer): boolean => !content.subarray(0, TEXT_BYTES).includes(0)

const names = ["ours", "base", "theirs"] as const

/** `undefined` if one version is binary or too large. With a conflict, the content has markers with these labels. */
export const mergeThreeWays = (
  shadow: ShadowRepository,
  sides: MergeSides,
  labels: Readonly<Record<(typeof names)[number], string>> = {
    ours: "workspace",
    base: "base",
    theirs: "change"
  }
): Effect.Effect<MergedContent | undefined, GitFailed> => {
  const versions = names.map((name) => sides[name])
  if (!versions.every((content) => isText(content) && content.length <= MAX_MERGED)) return Effect.undefined
  return Effect.acquireUseRelease(
    attemptFiles(() => {
      const folder = mkdtempSync(join(shadow.folder, "merge-"))
      for (const name of names) writeFileSync(join(folder, name), sides[name], { mode: 0o600 })
      return folder
    }),
    (folder) => {
      const args = names.flatMap((name) => ["-L", labels[name]])
      return Effect.map(
        shadow.run(["merge-file", "-p", "-q", ...args, ...names.map((name) => join(folder, name))], {
          accept: Array.from({ length: MAX_CONFLICTS + 1 }, (_, code) => code),
          maxBytes: 4 * MAX_MERGED
        }),
        ({ bytes, code }) => ({ content: bytes, hasConflict: code > 0 })
      )
    },
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  )
}

/** The mode of a file that two sides may have changed; `undefined` if both changed it differently. */
export const mergedMode = (base: string, ours: string, theirs: string): string | undefined =>
  ours === base ? theirs : theirs === base || theirs === ours ? ours : undefined
