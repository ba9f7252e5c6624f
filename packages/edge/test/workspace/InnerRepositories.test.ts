/** Repositories inside a workspace: their files are part of its changes, and their settings run nothing. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { snapshotTreeOf } from "../../src/workspace/SnapshotTree.ts"
import { commitAll, git, repository } from "./Repository.ts"
import { changesBy, put, snapshotPlace } from "./SnapshotPlace.ts"

/** A repository with a file and a commit, at a path of the workspace. */
const makeInner = (root: string, path: string): void => {
  put(root, `${path}/file`, "1\n")
  repository(join(root, path))
  commitAll(join(root, path))
}

const outer = (root: string): void => {
  repository(root)
  put(root, "a.txt", "1\n")
  commitAll(root)
}

describe("A repository inside the workspace", () => {
  it.live("is a part of the changes: vendored, a submodule, several levels deep, without a commit", () =>
    Effect.gen(function* () {
      const place = yield* snapshotPlace((root) => {
        outer(root)
        for (const path of ["vendor/lib", "vendor/lib/deep", "vendor/lib/deep/deeper"]) makeInner(root, path)
        makeInner(root, "../source")
        git(
          root,
          "-c",
          "protocol.file.allow=always",
          "submodule",
          "add",
          "-q",
          join(root, "../source"),
          "sub"
        )
        put(root, "empty/file", "1\n")
        repository(join(root, "empty"))
        mkdirSync(join(root, "nothing"))
        repository(join(root, "nothing"))
      })
      const paths = [
        "a.txt",
        "empty/file",
        "sub/file",
        "vendor/lib/deep/deeper/file",
        "vendor/lib/deep/file",
        "vendor/lib/file"
      ]
      for (const n of [2, 3]) {
        const { leftOut, texts } = yield* changesBy(place, () => {
          for (const path of paths) put(place.root, path, `${n}\n`)
        })
        assert.deepStrictEqual(
          texts,
          paths.map((path) => `modified ${path}`)
        )
        assert.deepStrictEqual(leftOut, [])
      }
    }).pipe(Effect.scoped)
  )

  it.live("may appear during a run, where a folder or a file was, and disappear", () =>
    Effect.gen(function* () {
      const place = yield* snapshotPlace((root) => {
        outer(root)
        put(root, "folder/b.txt", "1\n")
        put(root, "file", "1\n")
      })
      const created = yield* changesBy(place, () => {
        put(place.root, "folder/b.txt", "2\n")
        repository(join(place.root, "folder"))
        rmSync(join(place.root, "file"))
        makeInner(place.root, "file")
        makeInner(place.root, "fresh/one")
      })
      assert.deepStrictEqual(created.texts, [
        "renamed file/file",
        "modified folder/b.txt",
        "untracked fresh/one/file"
      ])
      const removed = yield* changesBy(place, () => rmSync(join(place.root, "fresh"), { recursive: true }))
      assert.deepStrictEqual(removed.texts, ["deleted fresh/one/file"])
    }).pipe(Effect.scoped)
  )

  it.live("is a bare one, a worktree, or one whose folder is elsewhere", () =>
    Effect.gen(function* () {
      const place = yield* snapshotPlace((root) => {
        outer(root)
        git(root, "worktree", "add", "-q", join(root, "tree"))
        git(root, "init", "-q", "--bare", join(root, "bare.git"))
        makeInner(root, "moved")
        renameSync(join(root, "moved/.git"), join(root, "../moved-folder"))
        writeFileSync(join(root, "moved/.git"), "gitdir: ../../moved-folder\n")
      })
      const { texts } = yield* changesBy(place, () => {
        put(place.root, "tree/a.txt", "2\n")
        put(place.root, "moved/file", "2\n")
        put(place.root, "bare.git/description", "2\n")
      })
      assert.deepStrictEqual(texts, [
        "modified bare.git/description",
        "modified moved/file",
        "modified tree/a.txt"
      ])
    }).pipe(Effect.scoped)
  )

  it.live("has its own ignore rules", () =>
    Effect.gen(function* () {
      const place = yield* snapshotPlace((root) => {
        outer(root)
        put(root, "inner/.gitignore", "*.log\n")
        makeInner(root, "inner")
      })
      const { texts } = yield* changesBy(place, () => {
        put(place.root, "inner/x.log", "1\n")
        put(place.root, "x.log", "1\n")
      })
      assert.deepStrictEqual(texts, ["untracked x.log"])
    }).pipe(Effect.scoped)
  )
})

describe("A workspace inside a bigger repository", () => {
  const bigger = (root: string): void => {
    repository(join(root, ".."))
    writeFileSync(join(root, "../.gitignore"), "*.log\n/workspace/build/\n")
  }
  const inside = Effect.fnUntraced(function* (prepare: (root: string) => void) {
    const place = yield* snapshotPlace()
    const root = join(place.root, "workspace")
    mkdirSync(root)
    put(root, "a.txt", "1\n")
    prepare(root)
    return { ...place, root }
  })

  it.live("has the ignore rules of that repository", () =>
    Effect.gen(function* () {
      const place = yield* inside((root) => {
        bigger(root)
        commitAll(root)
      })
      for (const n of [2, 3]) {
        const { items, texts } = yield* changesBy(place, () => {
          for (const path of ["a.txt", `x${n}.log`, `build/${n}`, `new${n}`]) put(place.root, path, `${n}\n`)
          put(place.root, "../other", `${n}\n`)
        })
        assert.deepStrictEqual(texts, ["modified a.txt", `untracked new${n}`])
        assert.strictEqual(items[0]?.hunks.length, 1)
      }
    }).pipe(Effect.scoped)
  )

  it.live("below a folder `.git` that is no repository has the rules of the repository around that", () =>
    Effect.gen(function* () {
      for (const damage of ["HEAD", "objects", "refs", "everything"]) {
        const place = yield* inside((root) => {
          bigger(root)
          const inner = join(root, "inner")
          mkdirSync(join(inner, "deep"), { recursive: true })
          writeFileSync(join(inner, ".gitignore"), "*.tmp\n")
          if (damage === "everything") mkdirSync(join(inner, ".git"))
          else {
            repository(inner)
            rmSync(join(inner, ".git", damage), { recursive: true })
          }
        })
        const root = join(place.root, "inner/deep")
        const tree = snapshotTreeOf(root)
        assert.strictEqual(tree.top, join(place.root, ".."), damage)
      }
    }).pipe(Effect.scoped)
  )

  it.live("that ignores all of it has none of its rules", () =>
    Effect.gen(function* () {
      const place = yield* inside((root) => {
        bigger(root)
        writeFileSync(join(root, "../.gitignore"), "*\n")
      })
      const { texts } = yield* changesBy(place, () => put(place.root, "a.txt", "2\n"))
      assert.deepStrictEqual(texts, ["modified a.txt"])
    }).pipe(Effect.scoped)
  )

  it.live("whose rules block git has none of its rules", () =>
    Effect.gen(function* () {
      const place = yield* inside((root) => {
        bigger(root)
        rmSync(join(root, "../.gitignore"))
        execFileSync("mkfifo", [join(root, "../.gitignore")])
      })
      const { texts } = yield* changesBy(place, () => put(place.root, "x.log", "2\n"))
      assert.deepStrictEqual(texts, ["added x.log"])
    }).pipe(Effect.scoped)
  )
})
