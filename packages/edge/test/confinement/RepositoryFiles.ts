/** Changes of each file that git reads in a repository: all must be reported, by its name, and put back. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { lstatSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { RepositoryRecord } from "../../src/confinement/RepositoryRecord.ts"
import { repositoryState } from "../../src/confinement/RepositoryState.ts"
import { RepositoryWatch } from "../../src/confinement/RepositoryWatch.ts"
import { runIdOf } from "../Samples.ts"
import { git } from "../workspace/Repository.ts"

/** What a watch does not compare, each with its reason. */
const elsewhere: ReadonlyArray<readonly [RegExp, reason: string]> = [
  [/^objects(?!\/info\/(?:http-)?alternates$)/, "objects, which are not protected in place"],
  [/^(?:config|config\.worktree|hooks)(?:\/|$)/, "protected names"],
  [/^logs(?!\/refs\/stash$)/, "reflogs"],
  [/\.(?:lock|new)$|^gc\.(?:pid|log)$/, "files of a git that runs"],
  [/^info\/refs|tmp_|_[A-Za-z0-9]{6}$/, "derived and temporary files"],
  [/^(?:description|COMMIT_EDITMSG|lfs)(?:\/|$)/, "texts and data"]
]

export const isCompared = (name: string): boolean => !elsewhere.some(([pattern]) => pattern.test(name))

const ID = "1".repeat(40)
const replace = (path: string, make: (path: string) => unknown): void => {
  rmSync(path, { force: true })
  make(path)
}

/** What a program does with one name. */
const changes: Readonly<Record<string, (path: string) => void>> = {
  "a file": (path) => writeFileSync(path, `${ID}\n`),
  "a symbolic ref": (path) => writeFileSync(path, "ref: refs/heads/feature\n"),
  "a link": (path) => replace(path, (at) => symlinkSync("nowhere", at)),
  "a pipe": (path) => replace(path, (at) => execFileSync("mkfifo", [at])),
  "no file": (path) => rmSync(path, { force: true })
}

export const CHANGES = Object.keys(changes)

export interface Traced {
  readonly home: string
  readonly root: string
}

/** Whether the change can be made: a folder has another meaning, and a file is not above another one. */
const canChange = (root: string, name: string, change: string): boolean => {
  const names = name.split("/")
  for (let end = 1; end < names.length; end++) {
    const stat = lstatSync(join(root, ".git", ...names.slice(0, end)), { throwIfNoEntry: false })
    if (stat === undefined) return change !== "no file"
    if (!stat.isDirectory()) return false
  }
  const stat = lstatSync(join(root, ".git", name), { throwIfNoEntry: false })
  return stat === undefined ? change !== "no file" : !stat.isDirectory()
}

const comparable = (root: string) => {
  const { files, head, index, refs } = repositoryState(root)
  return { head, index, refs: [...refs].toSorted(), files: [...files].toSorted() }
}

/** Returns whether there was something to do. */
export const assertReported = Effect.fnUntraced(function* (
  { home, root }: Traced,
  name: string,
  change: string
) {
  if (!canChange(root, name, change)) return false
  // A restored ref is in a file of its name.
  if (name === "packed-refs") git(root, "pack-refs", "--all")
  const before = comparable(root)
  const record = new RepositoryRecord(home, runIdOf(1))
  const watch = new RepositoryWatch(root, record)
  watch.start()
  const path = join(root, ".git", name)
  mkdirSync(dirname(path), { recursive: true })
  changes[change]?.(path)
  const found = watch.compare(true)
  const names = [
    ...(found?.refs ?? []).map((ref) => ref.name),
    ...(found?.files ?? []).map((file) => file.path),
    ...(found?.head === undefined ? [] : ["HEAD"]),
    ...(found?.index === undefined ? [] : ["index"])
  ]
  const what = `${change} as ${name}`
  if (name === "packed-refs") assert.isNotEmpty(names, what)
  else assert.include(names, name, what)
  yield* record.restore("git")
  assert.deepStrictEqual(comparable(root), before, `${what}: put back`)
  return true
})
