/** Random subsets of hunks of random trees, compared with `git apply` of the same subset. */
import { assert } from "@effect/vitest"
import { Effect, Result } from "effect"
import { execFile } from "node:child_process"
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { compareStates, type Comparison, SecretSearches } from "../../src/change/ChangeComparison.ts"
import {
  acceptedPaths,
  rejectedPaths,
  type SelectedFile,
  selectParts
} from "../../src/change/DecisionPlan.ts"
import { storeContent, treeWith } from "../../src/change/TreeContents.ts"
import type { GitFailed } from "../../src/workspace/Git.ts"
import { ShadowRepository, zeroTerminated } from "../../src/workspace/ShadowRepository.ts"
import type { TreeChange } from "../../src/workspace/TreeDiff.ts"
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

const WORD = "refused"

/** Prints for each argument the tree of its index with its patch. A large process takes longer to start git than git runs, so one shell starts all. */
const APPLY_EACH = `
for at do
  export GIT_INDEX_FILE="$at.index"
  git apply --cached --binary --whitespace=nowarn "$at.patch" 2>/dev/null
  case $? in
    0) git write-tree || exit ;;
    1|128) echo ${WORD} ;;
    *) exit 1 ;;
  esac
done`

/** The trees after `git apply` of each patch; `undefined` where git refuses. */
const applied = Effect.fnUntraced(function* (
  shadow: ShadowRepository,
  tree: string,
  patches: ReadonlyArray<string>
) {
  const folder = mkdtempSync(join(shadow.folder, "work-"))
  const index = join(folder, "index")
  yield* shadow.run(["read-tree", tree], { index })
  const numbers = [...patches.keys()].filter((at) => patches[at] !== "")
  for (const at of numbers) {
    copyFileSync(index, join(folder, `${at}.index`))
    writeFileSync(join(folder, `${at}.patch`), patches[at] ?? "", "latin1")
  }
  const { stdout } = yield* Effect.promise(() =>
    promisify(execFile)("/bin/sh", ["-c", APPLY_EACH, "sh", ...numbers.map(String)], {
      cwd: folder,
      env: {
        PATH: "/usr/local/bin:/usr/bin:/bin",
        LC_ALL: "C",
        GIT_DIR: shadow.folder,
        GIT_WORK_TREE: folder,
        GIT_CONFIG_NOSYSTEM: "1",
        GIT_CONFIG_GLOBAL: "/dev/null"
      }
    })
  )
  rmSync(folder, { recursive: true })
  const lines = stdout.split("\n").slice(0, -1)
  assert.strictEqual(lines.length, numbers.length)
  const found = new Map(numbers.map((at, line) => [at, lines[line]]))
  return patches.map((_, at) => {
    const line = found.has(at) ? found.get(at) : tree
    return line === WORD ? undefined : line
  })
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

type PathsOf = typeof acceptedPaths

const treeAfter = (shadow: ShadowRepository, tree: string, paths: ReturnType<PathsOf>) =>
  Effect.flatMap(paths, (changes) =>
    treeWith(
      shadow,
      tree,
      changes.map(({ after, path }) => ({ path, entry: after }))
    )
  )

const inFolder = (at: number, path: Buffer): Buffer => Buffer.concat([Buffer.from(`${at}/`), path])

/** A change of the same file in a folder. */
const movedInto = (at: number, each: SelectedFile): SelectedFile => {
  const { fromPath, path, ...rest } = each.file.change
  const change: TreeChange = {
    ...rest,
    path: inFolder(at, path),
    ...(fromPath === undefined ? {} : { fromPath: inFolder(at, fromPath) })
  }
  return { ...each, file: { ...each.file, change } }
}

/** The trees after these subsets of changes. Each has a folder of one tree, so that few processes make all of them. */
const treesTogether = Effect.fnUntraced(function* (
  shadow: ShadowRepository,
  tree: string,
  subsets: ReadonlyArray<Subset>,
  pathsOf: PathsOf
): Effect.fn.Return<ReadonlyArray<string>, GitFailed> {
  const folders = subsets.map((_, at) => `040000 tree ${tree}\t${at}\0`).join("")
  const listed = yield* shadow.run(["mktree", "-z", "--missing"], { stdin: Buffer.from(folders) })
  const forest = listed.bytes.toString("latin1").trim()
  const moved = subsets.flatMap(({ files }, at) => files.map((file) => movedInto(at, file)))
  const after = yield* treeAfter(shadow, forest, pathsOf(shadow, moved))
  const { bytes } = yield* shadow.run(["ls-tree", "-z", after])
  const found = new Map(
    zeroTerminated(bytes).map((record) => {
      const [, , id = "", at = ""] = record.toString("latin1").split(/[ \t]/)
      return [Number(at), id]
    })
  )
  return subsets.map((_, at) => found.get(at) ?? EMPTY_TREE)
})

/** The trees, or the failures of those that cannot be made. */
const treesAfter = Effect.fnUntraced(function* (
  shadow: ShadowRepository,
  tree: string,
  subsets: ReadonlyArray<Subset>,
  pathsOf: PathsOf
) {
  const together = yield* Effect.result(treesTogether(shadow, tree, subsets, pathsOf))
  return Result.isSuccess(together)
    ? together.success.map((each) => Result.succeed(each))
    : yield* Effect.forEach(subsets, ({ files }) =>
        Effect.result(treeAfter(shadow, tree, pathsOf(shadow, files)))
      )
})

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
  const choices = Array.from({ length: subsets }, () => randomChoice(seeded, all))
  const chosen = choices.map((choice) => subsetOf(all, sectionOf, false, choice))
  const rest = choices.map((choice) => subsetOf(all, sectionOf, true, choice))
  const expected = yield* applied(
    shadow,
    base,
    chosen.map(({ patch }) => patch)
  )
  const accepted = yield* treesAfter(shadow, base, chosen, acceptedPaths)
  // What is rejected leaves the result as the rest of the changes makes it.
  const rejected = yield* treesAfter(shadow, result, rest, rejectedPaths)
  for (const [at, tree] of accepted.entries()) {
    if (Result.isFailure(tree)) {
      counts.refused++
      assert.isUndefined(expected[at], tree.failure.message)
      continue
    }
    if (expected[at] !== undefined) assert.strictEqual(tree.success, expected[at], chosen[at]?.patch)
    counts[expected[at] === undefined ? "refused" : "equal"]++
    const left = rejected[at]
    if (left !== undefined && Result.isSuccess(left)) assert.strictEqual(left.success, tree.success)
  }
  const [first] = accepted
  const [files] = chosen
  const [others] = rest
  if (first === undefined || Result.isFailure(first) || files === undefined || others === undefined) return
  // Without a folder around it, a tree is the same.
  const alone = yield* treeAfter(shadow, base, acceptedPaths(shadow, files.files))
  assert.strictEqual(alone, first.success)
  yield* checkIds(shadow, alone, result, others, counts)
})

/** Some hunks of each file. */
const randomChoice = (
  seeded: Seeded,
  files: ReadonlyArray<SelectedFile>
): ReadonlyMap<SelectedFile, ReadonlySet<number>> =>
  new Map(
    files.map((file) => {
      const numbers = Array.from({ length: Math.max(1, file.hunks.length) }, (_, at) => at)
      return [file, new Set(numbers.filter(() => seeded.whole(0, 1) === 0))]
    })
  )

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
