/** Files that git opens and that are not regular: a snapshot neither waits for them nor loses a change because of them. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { mkdirSync, readdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { git as runGit } from "../../src/workspace/Git.ts"
import { commitAll, copied, git, repository } from "./Repository.ts"
import { changesBy, makePipe, put, snapshotPlace } from "./SnapshotPlace.ts"

const sample = copied((root) => {
  repository(root)
  put(root, "a.txt", "1\n")
  put(root, "sub/b.txt", "1\n")
  put(root, "sub/c.log", "1\n")
  put(root, "inner/c.txt", "1\n")
  writeFileSync(join(root, ".gitignore"), "*.log\n")
  repository(join(root, "inner"))
  commitAll(join(root, "inner"))
  commitAll(root)
})

const replace = (path: string, make: (path: string) => void): void => {
  rmSync(path, { recursive: true, force: true })
  mkdirSync(dirname(path), { recursive: true })
  make(path)
}

const traps: Readonly<Record<string, (root: string) => void>> = {
  ...Object.fromEntries(
    [
      ".gitignore",
      "sub/.gitignore",
      ".gitattributes",
      "sub/.gitattributes",
      ".gitmodules",
      ".git/info/exclude",
      ".git/HEAD",
      ".git/config",
      ".git/index",
      ".git/objects/info/alternates",
      ".git/objects/pack/pack-0.idx",
      ".git/objects/info/commit-graph",
      "inner/.git/HEAD",
      "inner/.git/config",
      "inner/.git/commondir",
      "inner/.gitignore",
      "new/.git/HEAD",
      "new/.git"
    ].map((name) => [`a pipe as ${name}`, (root: string) => replace(join(root, name), makePipe)])
  ),
  "a link to a pipe as .gitignore": (root) => {
    makePipe(join(root, "pipe"))
    replace(join(root, ".gitignore"), (path) => symlinkSync("pipe", path))
  },
  "a link to itself as .gitattributes": (root) =>
    replace(join(root, ".gitattributes"), (path) => symlinkSync(".gitattributes", path)),
  "a folder as .gitignore": (root) => replace(join(root, "sub/.gitignore"), (path) => mkdirSync(path)),
  "a huge .gitignore": (root) =>
    replace(join(root, "sub/.gitignore"), (path) => {
      writeFileSync(path, "")
      truncateSync(path, 2 ** 42)
    }),
  "a huge file of attributes": (root) =>
    replace(join(root, "sub/.gitattributes"), (path) => {
      writeFileSync(path, "")
      truncateSync(path, 2 ** 42)
    }),
  "a loose object as a pipe": (root) => {
    const objects = join(root, ".git/objects")
    for (const folder of readdirSync(objects).filter((name) => name.length === 2))
      for (const name of readdirSync(join(objects, folder))) replace(join(objects, folder, name), makePipe)
  }
}

describe("Something that blocks git", () => {
  it.live.each(Object.keys(traps))("hides no change: %s", (name) =>
    Effect.gen(function* () {
      const place = yield* snapshotPlace(sample)
      traps[name]?.(place.root)
      for (const n of [2, 3]) {
        const { texts } = yield* changesBy(place, () => {
          writeFileSync(join(place.root, "a.txt"), `${n}\n`)
          put(place.root, `sub/new${n}`, "1\n")
          writeFileSync(join(place.root, "inner/c.txt"), `${n}\n`)
        })
        for (const change of ["modified a.txt", "modified inner/c.txt"]) assert.include(texts, change)
        assert.isTrue(texts.some((text) => text.endsWith(`sub/new${n}`)))
      }
    }).pipe(Effect.scoped)
  )

  it.live("that appears during a run hides none of its changes", () =>
    Effect.gen(function* () {
      for (const name of [
        "a pipe as .gitignore",
        "a pipe as sub/.gitattributes",
        "a pipe as new/.git/HEAD"
      ]) {
        const place = yield* snapshotPlace(sample)
        const { texts } = yield* changesBy(place, () => {
          traps[name]?.(place.root)
          writeFileSync(join(place.root, "a.txt"), "2\n")
          writeFileSync(join(place.root, "sub/c.log"), "2\n")
        })
        assert.include(texts, "modified a.txt", name)
      }
    }).pipe(Effect.scoped)
  )

  it.live("is named if it is a huge file", () =>
    Effect.gen(function* () {
      const place = yield* snapshotPlace(sample)
      for (const n of [2, 3]) {
        const { leftOut, texts } = yield* changesBy(place, () => {
          put(place.root, "a.txt", `${n}\n`)
          put(place.root, "sub/huge", "")
          truncateSync(join(place.root, "sub/huge"), 2 ** 42)
        })
        assert.deepStrictEqual(texts, ["modified a.txt"])
        assert.deepStrictEqual(leftOut, ["sub/huge"])
      }
    }).pipe(Effect.scoped)
  )

  it.live("keeps the rules of other files", () =>
    Effect.gen(function* () {
      const place = yield* snapshotPlace(sample)
      put(place.root, "deep/x/.gitignore", "*.tmp\n!kept.tmp\n/build/\n")
      makePipe(join(place.root, "sub/.gitignore"))
      const { texts } = yield* changesBy(place, () => {
        for (const path of ["y.tmp", "kept.tmp", "z.log", "build/a", "in/build/a"])
          put(place.root, `deep/x/${path}`, "1\n")
      })
      assert.deepStrictEqual(texts, ["untracked deep/x/in/build/a", "untracked deep/x/kept.tmp"])
    }).pipe(Effect.scoped)
  )

  it.live("is forgotten when it is gone", () =>
    Effect.gen(function* () {
      const place = yield* snapshotPlace(sample)
      makePipe(join(place.root, "sub/.gitignore"))
      yield* changesBy(place, () => undefined)
      rmSync(join(place.root, "sub/.gitignore"))
      const { texts } = yield* changesBy(place, () => put(place.root, "a.txt", "2\n"))
      assert.deepStrictEqual(texts, ["modified a.txt"])
    }).pipe(Effect.scoped)
  )

  it.live("is a file that is gone, where a file was", () =>
    Effect.gen(function* () {
      const place = yield* snapshotPlace(sample)
      const { texts } = yield* changesBy(place, () => {
        replace(join(place.root, "sub/b.txt"), makePipe)
        put(place.root, "a.txt", "2\n")
      })
      assert.deepStrictEqual(texts, ["modified a.txt", "deleted sub/b.txt"])
    }).pipe(Effect.scoped)
  )
})

/** Works without a pause, but for the input and output that waits. */
const keepBusy = Effect.acquireRelease(
  Effect.sync(() =>
    setInterval(() => {
      const until = performance.now() + 120
      while (performance.now() < until);
    }, 1)
  ),
  (timer) => Effect.sync(() => clearInterval(timer))
)

describe("A git that waits for a busy Edge", () => {
  const root = copied(repository)
  it.live.each(["output", "input"])("has not stalled: its %s", (way) =>
    Effect.gen(function* () {
      const { root: folder } = yield* snapshotPlace(root)
      const large = Buffer.alloc(8_388_608, "x")
      writeFileSync(join(folder, "large"), large)
      const id = git(folder, "hash-object", "-w", "large").trim()
      yield* keepBusy
      const { bytes } = yield* runGit({
        program: "/usr/bin/git",
        cwd: folder,
        watched: folder,
        timeoutMs: 60_000,
        args: way === "output" ? ["cat-file", "blob", id] : ["hash-object", "--stdin"],
        ...(way === "output" ? {} : { stdin: large })
      })
      assert.strictEqual(
        way === "output" ? bytes.length : bytes.toString().trim(),
        way === "output" ? large.length : id
      )
    }).pipe(Effect.scoped)
  )
})
