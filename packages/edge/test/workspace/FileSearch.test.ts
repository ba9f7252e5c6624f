/** Search for files in real folders, with a real git. */
import { afterAll, assert, describe, it } from "@effect/vitest"
import { findProgram } from "../../src/process/ChildEnvironment.ts"
import { byLength, rankOf, RANKS, readFileNames, searchedPath } from "../../src/workspace/FileSearch.ts"
import { Effect } from "effect"
import * as fc from "fast-check"
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

const git = findProgram("git", process.env["PATH"])
const folders: Array<string> = []
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })))

const workspace = (...paths: ReadonlyArray<string>): string => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "corral-names-")))
  folders.push(root)
  for (const path of paths) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), "")
  }
  return root
}
const namesOf = (root: string, limits?: { readonly names: number; readonly folders: number }) =>
  Effect.runPromise(readFileNames(git, root, limits))
const pathsOf = async (root: string) => (await namesOf(root)).names.map(({ path }) => path)

describe("readFileNames", () => {
  it("names files of all folders, ignored ones last, and nothing of .git", async () => {
    const root = workspace(
      "src/deep/a.ts",
      "README.md",
      "out/built.js",
      "note.log",
      "sub/.git/config",
      "sub/b.ts"
    )
    execFileSync("git", ["init", "-q"], { cwd: root })
    writeFileSync(join(root, ".gitignore"), "out/\n*.log\n")
    const { isCut, names } = await namesOf(root)
    assert.isFalse(isCut)
    const ignored = names.filter(({ isIgnored }) => isIgnored).map(({ path }) => path)
    assert.deepStrictEqual(ignored.toSorted(), ["note.log", "out", "out/built.js"])
    const paths = names.map(({ path }) => path)
    assert.deepStrictEqual(
      paths.filter((path) => path.split("/").includes(".git")),
      []
    )
    for (const path of ["src", "src/deep", "src/deep/a.ts", "README.md", "sub/b.ts"])
      assert.include(paths, path)
  })

  it("names nothing of version control, and nothing in folders that hold credentials", async () => {
    const root = workspace("a.txt", ".hg/store", ".JJ/repo", ".aws/credentials", "lib/.svn/x", "lib/b.txt")
    execFileSync("git", ["init", "-q", "--bare", join(root, "bare")])
    assert.deepStrictEqual((await pathsOf(root)).toSorted(), [".aws", "a.txt", "bare", "lib", "lib/b.txt"])
  })

  it("names links and follows none", async () => {
    const outside = workspace("secret.txt")
    const root = workspace("a.txt")
    symlinkSync(outside, join(root, "away"))
    symlinkSync(root, join(root, "round"))
    symlinkSync(join(outside, "secret.txt"), join(root, "file"))
    assert.deepStrictEqual((await pathsOf(root)).toSorted(), ["a.txt", "away", "file", "round"])
  })

  it("waits for no pipe, and names no socket and no pipe", async () => {
    const root = workspace("a.txt")
    execFileSync("git", ["init", "-q"], { cwd: root })
    execFileSync("mkfifo", [join(root, ".gitignore")])
    assert.deepStrictEqual(await pathsOf(root), ["a.txt"])
  })

  it("stops at its limits, after what is not ignored", async () => {
    const root = workspace(
      ...Array.from({ length: 40 }, (_, i) => `a-modules/${i}/index.js`),
      ...Array.from({ length: 5 }, (_, i) => `src/${i}.ts`)
    )
    execFileSync("git", ["init", "-q"], { cwd: root })
    writeFileSync(join(root, ".gitignore"), "a-modules/\n")
    for (const limits of [
      { names: 12, folders: 1_000 },
      { names: 1_000, folders: 9 }
    ]) {
      const { isCut, names } = await namesOf(root, limits)
      assert.isTrue(isCut)
      assert.isAtMost(names.length, 60)
      for (let i = 0; i < 5; i++)
        assert.include(
          names.map(({ path }) => path),
          `src/${i}.ts`
        )
    }
  })
})

describe("rankOf", () => {
  const best = (paths: ReadonlyArray<string>, query: string) =>
    paths
      .map((path) => searchedPath(path, "file", false))
      .flatMap((name) => {
        const rank = rankOf(name, query)
        return rank === undefined ? [] : [{ name, rank }]
      })
      .toSorted((a, b) => a.rank - b.rank || byLength(a.name, b.name))
      .map(({ name }) => name.path)

  it("prefers beginnings, then words, parts, folders and letters in order", () => {
    const paths = ["read/x.ts", "r/e-a-d.ts", "thread.ts", "has-read.ts", "src/deep/README.md", "other.ts"]
    assert.deepStrictEqual(best(paths, "read"), [
      "src/deep/README.md",
      "read/x.ts",
      "has-read.ts",
      "thread.ts",
      "r/e-a-d.ts"
    ])
    assert.deepStrictEqual(best(["packages/f1.ts", "f1/a.ts", "src/of1.ts"], "f1.ts"), [
      "packages/f1.ts",
      "src/of1.ts",
      "f1/a.ts"
    ])
    assert.deepStrictEqual(best(["src/run/Event.ts", "src/Event.ts"], "run/ev"), ["src/run/Event.ts"])
  })

  it("finds each path by its name, by its whole, and by any of its letters in order", () => {
    const segment = fc
      .string({ unit: "grapheme", minLength: 1 })
      .map((text) => text.replaceAll(/[/\0]/gu, "x"))
    const paths = fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"))
    fc.assert(
      fc.property(paths, fc.infiniteStream(fc.boolean()), (path, keep) => {
        const name = searchedPath(path, "file", false)
        for (const query of [
          name.folded,
          name.folded.slice(name.nameAt),
          Array.from({ length: name.folded.length }, (_, i) => name.folded.charAt(i))
            .filter(() => keep.next().value)
            .join("")
        ]) {
          const rank = query === "" ? 0 : rankOf(name, query)
          assert.isDefined(rank, `${query} in ${path}`)
          assert.isBelow(rank ?? RANKS, RANKS)
        }
      })
    )
  })
})
