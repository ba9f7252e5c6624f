/** Random subsets of hunks of random trees, compared with `git apply` of the same subset. */
import { assert } from "@effect/vitest"
import { Effect, Result } from "effect"
import { randomUUID } from "node:crypto"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { compareStates, type Comparison, SecretSearches } from "../../src/change/ChangeComparison.ts"
import {
  acceptedPaths,
  rejectedPaths,
  type SelectedFile,
  selectParts
} from "../../src/change/DecisionPlan.ts"
import { storeContent, treeWith } from "../../src/change/TreeContents.ts"
import type { GitFailed } from "../../src/workspace/Git.ts"
import { ShadowRepository } from "../../src/workspace/ShadowRepository.ts"
import { temporaryFolder } from "../Folder.ts"
import type { Seeded } from "../harness/Seeded.ts"
import { randomTrees, type Tree } from "./RandomTrees.ts"

/** A repository of states without a workspace. */
export const shadowPlace = Effect.map(temporaryFolder, (folder) => {
  const shadow = new ShadowRepository({
    program: "/usr/bin/git",
    folder: join(folder, "snapshots"),
    root: folder,
    timeoutMs: 60_000
  })
  shadow.open()
  return { folder, shadow }
})

export const EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

export const storeTree = Effect.fnUntraced(function* (shadow: ShadowRepository, tree: Tree) {
  yield* shadow.run(["mktree"], { stdin: Buffer.alloc(0) })
  const entries = yield* Effect.forEach([...tree], ([path, { content, mode }]) =>
    Effect.map(storeContent(shadow, content), (id) => ({
      path: Buffer.from(path, "latin1"),
      entry: { mode, id }
    }))
  )
  return yield* treeWith(shadow, EMPTY_TREE, entries)
})

/** Sections of git's patch, in the order of its list. */
const patchSections = Effect.fnUntraced(function* (shadow: ShadowRepository, before: string, after: string) {
  const { bytes } = yield* shadow.run([
    "diff-tree",
    "-r",
    "-M",
    "-p",
    "-U3",
    "--binary",
    "--full-index",
    "--no-color",
    before,
    after
  ])
  return bytes
    .toString("latin1")
    .split(/^(?=diff --git )/m)
    .filter((section) => section !== "")
    .reduce<ReadonlyArray<string>>((sections, section) => {
      // A file that becomes a link is removed and created, in two sections with one head.
      const last = sections.at(-1)
      const isSecond = last?.split("\n", 1)[0] === section.split("\n", 1)[0]
      return isSecond ? [...sections.slice(0, -1), `${last}${section}`] : [...sections, section]
    }, [])
})

/** A section with these of its hunks, at the places that they have then. */
const withHunks = (section: string, chosen: ReadonlySet<number>): string => {
  const [head = "", ...hunks] = section.split(/^(?=@@ )/m)
  let moved = 0
  const remaining = hunks.flatMap((hunk, at) => {
    if (!chosen.has(at)) return []
    const [, oldStart = "", oldLines = "1", , newLines = "1", rest = ""] =
      /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$/s.exec(hunk) ?? []
    const start = Number(oldStart) + moved
    moved += Number(newLines) - Number(oldLines)
    return [`@@ -${oldStart},${oldLines} +${start},${newLines} @@${rest}`]
  })
  return [head, ...remaining].join("")
}

/** The tree after `git apply`; `undefined` if git refuses. */
const applied = Effect.fnUntraced(function* (shadow: ShadowRepository, tree: string, patch: string) {
  if (patch === "") return tree
  const index = join(shadow.folder, `work-${randomUUID()}`)
  return yield* Effect.gen(function* () {
    yield* shadow.run(["read-tree", tree], { index })
    const { code } = yield* shadow.run(["apply", "--cached", "--binary", "--whitespace=nowarn", "-"], {
      index,
      stdin: Buffer.from(patch, "latin1"),
      accept: [0, 1, 128]
    })
    return code === 0 ? yield* shadow.treeOf(index) : undefined
  }).pipe(Effect.ensuring(Effect.sync(() => rmSync(index, { force: true }))))
})

interface Subset {
  readonly files: ReadonlyArray<SelectedFile>
  readonly patch: string
}

/** Some hunks and files, and the patch of them. */
const subsetOf = (
  all: ReadonlyArray<SelectedFile>,
  sectionOf: (file: SelectedFile) => string,
  isComplement: boolean,
  choice: ReadonlyMap<SelectedFile, ReadonlySet<number>>
): Subset => {
  const files: Array<SelectedFile> = []
  const patches: Array<string> = []
  for (const file of all) {
    const count = Math.max(1, file.hunks.length)
    const first = choice.get(file) ?? new Set()
    const chosen = new Set(
      Array.from({ length: count }, (_, at) => at).filter((at) => first.has(at) !== isComplement)
    )
    if (chosen.size === 0) continue
    const isWhole = chosen.size === count
    files.push(isWhole ? file : { ...file, chosen: file.hunks.filter((_, at) => chosen.has(at)) })
    patches.push(isWhole ? sectionOf(file) : withHunks(sectionOf(file), chosen))
  }
  return { files, patch: patches.join("") }
}

const compared = (
  shadow: ShadowRepository,
  base: string,
  result: string
): Effect.Effect<Comparison, GitFailed> =>
  compareStates({
    shadow,
    base,
    result,
    leftOut: [],
    conflicts: [],
    view: shadow.folder,
    secrets: new SecretSearches()
  })

const treeAfter = (shadow: ShadowRepository, tree: string, paths: ReturnType<typeof acceptedPaths>) =>
  Effect.flatMap(paths, (changes) =>
    treeWith(
      shadow,
      tree,
      changes.map(({ after, path }) => ({ path, entry: after }))
    )
  ).pipe(Effect.result)

export interface SubsetCounts {
  equal: number
  refused: number
  /** Ids of undecided hunks after the acceptance of others. */
  survived: number
  changed: number
}

/** One pair of trees with some subsets of its changes. */
export const checkSubsets = Effect.fnUntraced(function* (
  shadow: ShadowRepository,
  seeded: Seeded,
  subsets: number,
  counts: SubsetCounts
) {
  const trees = randomTrees(seeded)
  const base = yield* storeTree(shadow, trees.base)
  const result = yield* storeTree(shadow, trees.result)
  const comparison = yield* compared(shadow, base, result)
  if (comparison.files.length === 0) return
  const named = { files: comparison.files.map(({ id }) => id) }
  const all = yield* selectParts(shadow, comparison, named, {})
  const sections = yield* patchSections(shadow, base, result)
  const { bytes } = yield* shadow.run(["diff-tree", "-r", "-M", "-z", "--name-only", base, result])
  const order = bytes.toString("latin1").split("\0").slice(0, -1)
  const sectionOf = ({ file }: SelectedFile) =>
    sections[order.indexOf(file.change.path.toString("latin1"))] ?? ""
  assert.strictEqual(sections.length, order.length)
  for (let at = 0; at < subsets; at++) {
    const choice = new Map(
      all.map((file) => [
        file,
        new Set(
          Array.from({ length: Math.max(1, file.hunks.length) }, (_, n) => n).filter(
            () => seeded.whole(0, 1) === 0
          )
        )
      ])
    )
    const chosen = subsetOf(all, sectionOf, false, choice)
    const expected = yield* applied(shadow, base, chosen.patch)
    const accepted = yield* treeAfter(shadow, base, acceptedPaths(shadow, chosen.files))
    if (Result.isFailure(accepted)) {
      counts.refused++
      assert.isUndefined(expected, accepted.failure.message)
      continue
    }
    if (expected !== undefined) assert.strictEqual(accepted.success, expected, chosen.patch)
    counts[expected === undefined ? "refused" : "equal"]++
    // What is rejected leaves the result as the rest of the changes makes it.
    const rest = subsetOf(all, sectionOf, true, choice)
    const rejected = yield* treeAfter(shadow, result, rejectedPaths(shadow, rest.files))
    if (Result.isSuccess(rejected)) assert.strictEqual(rejected.success, accepted.success)
    if (at === 0) yield* checkIds(shadow, accepted.success, result, rest, counts)
  }
})

/** Ids of what is undecided stay. */
const checkIds = Effect.fnUntraced(function* (
  shadow: ShadowRepository,
  base: string,
  result: string,
  { files }: Subset,
  counts: SubsetCounts
) {
  const comparison = yield* compared(shadow, base, result)
  if (comparison.files.length === 0) return
  const left = yield* selectParts(shadow, comparison, { files: comparison.files.map(({ id }) => id) }, {})
  const ids = new Set(left.flatMap(({ hunks }) => hunks.map(({ id }) => id)))
  for (const { chosen, hunks } of files)
    for (const { id } of chosen ?? hunks) counts[ids.has(id) ? "survived" : "changed"]++
})
