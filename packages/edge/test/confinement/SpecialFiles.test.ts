import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { dirname, join } from "node:path"
import * as fc from "fast-check"
import type { Mount } from "../../src/confinement/Mount.ts"
import {
  coverSpecialFiles,
  type FoundSpecialFiles,
  LargeFolders,
  SpecialFiles
} from "../../src/confinement/SpecialFiles.ts"
import { openFolder } from "../Folder.ts"

const found = (
  files: SpecialFiles,
  trees: ReadonlyArray<string>,
  listed?: ReadonlyArray<string>
): FoundSpecialFiles => {
  const steps = files.search({ all: trees, listed })
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return { ...value, paths: value.paths.toSorted() }
  }
}

const pipes = (paths: ReadonlyArray<string>): ReadonlyArray<string> => {
  for (const path of paths) mkdirSync(dirname(path), { recursive: true })
  if (paths.length > 0) spawnSync("mkfifo", paths)
  return paths
}

const pipe = (path: string): string => pipes([path])[0] ?? ""

const listen = (path: string): Promise<string> =>
  new Promise((resolve) => {
    mkdirSync(dirname(path), { recursive: true })
    const server = createServer().listen(path, () => resolve(path))
    onTestFinished(() => void server.close())
  })

const far = () => Date.now() + 60_000

describe("SpecialFiles", () => {
  it("finds sockets and pipes at any depth, also in installed packages and hidden folders", async () => {
    const root = openFolder()
    const expected = [
      pipe(join(root, "pipe")),
      pipe(join(root, "node_modules", "a", ".cache", "pipe")),
      await listen(join(root, ".nx", "d.sock")),
      await listen(join(root, "target", "debug", "s"))
    ]
    writeFileSync(join(root, "file"), "")
    symlinkSync("/dev/null", join(root, "device"))
    const { isComplete, paths } = found(new SpecialFiles(far), [root])
    assert.deepStrictEqual(paths, expected.toSorted())
    assert.isTrue(isComplete)
  })

  it("finds listening sockets of folders that it does not search, by the kernel's list", async () => {
    const root = openFolder()
    const socket = await listen(join(root, "s"))
    pipe(join(root, "pipe"))
    assert.deepStrictEqual(found(new SpecialFiles(far), [], [root]).paths, [socket])
  })

  it("says that it reached a limit of names or of time", () => {
    const root = openFolder()
    for (const name of ["a", "b", "c"]) pipe(join(root, name, "pipe"))
    const few = new SpecialFiles(far, { names: 2, millis: 60_000 })
    assert.isFalse(found(few, [root]).isComplete)
    let now = 0
    const slow = new SpecialFiles(() => (now += 10), { names: 1_000, millis: 15 })
    assert.isFalse(found(slow, [root]).isComplete)
  })

  it("finds what appears in generated trees between two searches, and forgets what is gone", () => {
    const name = fc.constantFrom("a", "b", "c", "node_modules", ".d")
    const path = fc.array(name, { minLength: 1, maxLength: 3 })
    fc.assert(
      fc.property(
        fc.array(path, { maxLength: 4 }),
        fc.array(path, { maxLength: 4 }),
        fc.boolean(),
        (first, second, isLate) => {
          const root = openFolder()
          const files = new SpecialFiles(isLate ? far : Date.now)
          const make = (paths: typeof first, last: string) =>
            pipes([...new Set(paths.map((names) => join(root, ...names, last)))])
          const before = make(first, "one")
          assert.deepStrictEqual(found(files, [root]).paths, before.toSorted())
          const added = make(second, "two")
          for (const each of before.slice(1)) rmSync(each)
          const expected = [...before.slice(0, 1), ...added]
          assert.deepStrictEqual(found(files, [root]).paths, expected.toSorted())
        }
      ),
      { numRuns: 12 }
    )
  })
})

const cover = (mounts: ReadonlyArray<Mount>, reported: Array<string> = [], files = new SpecialFiles(far)) =>
  Effect.gen(function* () {
    const large = new LargeFolders(far, yield* Effect.scope)
    return yield* coverSpecialFiles({ files, large }, coveredRun(mounts, reported))
  }).pipe(Effect.scoped)

const coveredRun = (mounts: ReadonlyArray<Mount>, reported: Array<string>) => ({
  workspace: "/workspace",
  mounts,
  system: [],
  temporary: undefined,
  report: (_: string, text: string) => void reported.push(text)
})

const covers = (mounts: ReadonlyArray<Mount>): ReadonlyArray<string> =>
  mounts.flatMap(({ kind, path }) => (kind === "hidden_file" ? [path] : [])).toSorted()

describe("coverSpecialFiles", () => {
  it.effect("covers what the run sees, and nothing that a mount hides or replaces", () =>
    Effect.gen(function* () {
      const root = openFolder()
      const seen = pipe(join(root, "seen"))
      pipe(join(root, "hidden", "pipe"))
      pipe(join(root, "copied", "pipe"))
      const mounts = yield* cover([
        { kind: "write", path: root },
        { kind: "hidden", path: join(root, "hidden") },
        { kind: "write", path: join(root, "copied"), source: openFolder() }
      ])
      assert.deepStrictEqual(covers(mounts), [seen])
    })
  )

  it.effect("reports a search that reached a limit", () =>
    Effect.gen(function* () {
      const root = openFolder()
      mkdirSync(join(root, "a"))
      const reported: Array<string> = []
      yield* cover(
        [{ kind: "write", path: root }],
        reported,
        new SpecialFiles(far, { names: 1, millis: 1_000 })
      )
      assert.strictEqual(reported.length, 1)
    })
  )

  it.effect("covers those of large toolchains, and of small ones also if they are new", () =>
    Effect.gen(function* () {
      const [small, large] = [openFolder(), openFolder()]
      for (let at = 0; at < 300; at++) mkdirSync(join(large, "lib", `${at}`), { recursive: true })
      const first = pipe(join(large, "lib", "299", "pipe"))
      const searches = { files: new SpecialFiles(far), large: new LargeFolders(far, yield* Effect.scope) }
      const run = coveredRun(
        [small, large].map((path) => ({ kind: "read", path })),
        []
      )
      assert.deepStrictEqual(covers(yield* coverSpecialFiles(searches, run)), [first])
      const second = pipe(join(small, "pipe"))
      const paths = covers(yield* coverSpecialFiles(searches, run))
      assert.deepStrictEqual(paths, [first, second].toSorted())
    }).pipe(Effect.scoped)
  )

  it.effect("fails with a phrase for more than it can cover", () =>
    Effect.gen(function* () {
      const root = openFolder()
      const names = Array.from({ length: 513 }, (_, at) => join(root, `${at}`))
      pipes(names)
      assert.match(yield* Effect.flip(cover([{ kind: "write", path: root }])), /^its folders have 513 /)
      renameSync(names[0] ?? "", `${openFolder()}/moved`)
      assert.strictEqual(covers(yield* cover([{ kind: "write", path: root }])).length, 512)
    })
  )
})
