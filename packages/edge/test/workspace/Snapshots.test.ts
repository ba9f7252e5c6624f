import { assert, describe, it } from "@effect/vitest"
import type { FileDiff } from "@corral/domain/edge-api/Diff"
import type { RunId } from "@corral/domain/identity/Ids"
import { Arbitrary, Context, Effect, Layer, Schema } from "effect"
import { execFileSync } from "node:child_process"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { dirname, join } from "node:path"
import { Snapshots } from "../../src/workspace/Snapshots.ts"
import { temporaryFolder } from "../Folder.ts"
import { configLayer, newRunId } from "../Samples.ts"
import { tries } from "@corral/testing/time/Effort"

const configured = (home: string, path = process.env.PATH ?? "") =>
  Layer.provide(Snapshots.layer, configLayer(home, { environment: { PATH: path } }))

/** The service, until the end of the test. */
const openSnapshots = <E>(layer: Layer.Layer<Snapshots, E>) =>
  Effect.map(Layer.build(layer), (context) => Context.get(context, Snapshots))

const put = (root: string, path: string, content: string | Buffer) => {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), content)
}

const git = (root: string, ...args: ReadonlyArray<string>) =>
  execFileSync("git", ["-C", root, "-c", "user.name=a", "-c", "user.email=a@b", ...args], { stdio: "ignore" })

interface SnapshotPlace {
  readonly root: string
  readonly home: string
  readonly runId: RunId
  readonly snapshots: Snapshots["Service"]
}

/** A workspace with some content, a run that has started in it, and what then happens. */
const prepared = Effect.fnUntraced(function* (prepare: (root: string) => void, path?: string) {
  const home = yield* temporaryFolder
  const root = yield* temporaryFolder
  prepare(root)
  const runId = newRunId()
  const snapshots = yield* openSnapshots(configured(home, path))
  yield* snapshots.mark(runId)
  yield* snapshots.before(runId, root)
  return { home, root, runId, snapshots } satisfies SnapshotPlace
})

const diffOf = ({ root, runId, snapshots }: SnapshotPlace) => snapshots.diff(runId, root, undefined, 200)

const textOf = (files: ReadonlyArray<FileDiff>) => files.map(({ path, status }) => `${status} ${path}`)

const repository = (root: string) => {
  put(root, "kept.txt", "same\n")
  put(root, "edited.txt", "one\ntwo\nthree\n")
  put(root, "gone.txt", "bye\n")
  put(root, "moved.txt", "a long enough text\nto be recognised\nafter it moved\n")
  put(root, ".gitignore", "ignored/\n*.log\n")
  put(root, "ignored/cache", "1")
  git(root, "init", "-q")
  git(root, "add", "-A")
  git(root, "commit", "-q", "-m", "start")
}

const edit = (root: string) => {
  put(root, "edited.txt", "one\n2\nthree\n")
  rmSync(join(root, "gone.txt"))
  renameSync(join(root, "moved.txt"), join(root, "there.txt"))
  put(root, "new file.txt", "hello\n")
  put(root, "image.bin", Buffer.from([0, 1, 2, 255]))
  put(root, "ignored/cache", "2")
}

describe("Snapshots", () => {
  it.effect(
    "tells what changed in a repository: renames, binaries, untracked files, and no ignored ones",
    () =>
      Effect.gen(function* () {
        const run = yield* prepared(repository)
        assert.deepStrictEqual((yield* diffOf(run)).items, [])
        edit(run.root)
        const { additions, deletions, items } = yield* diffOf(run)
        assert.deepStrictEqual(textOf(items), [
          "modified edited.txt",
          "deleted gone.txt",
          "untracked image.bin",
          "untracked new file.txt",
          "renamed there.txt"
        ])
        assert.deepStrictEqual([additions, deletions], [2, 2])
        assert.deepStrictEqual(items[0]?.hunks, [
          { oldStart: 1, oldLines: 3, newStart: 1, newLines: 3, lines: [" one", "-two", "+2", " three"] }
        ])
        assert.deepInclude(items[2], { binary: true, hunks: [], additions: 0 })
        assert.strictEqual(items[4]?.fromPath, "moved.txt")
      })
  )

  it.effect("needs no repository, and leaves heavy folders out", () =>
    Effect.gen(function* () {
      const run = yield* prepared((root) => {
        put(root, "a/b.txt", "x")
        put(root, "node_modules/m/index.js", "x")
      })
      put(run.root, "a/b.txt", "y")
      put(run.root, "a/c.txt", "z\n")
      put(run.root, "node_modules/m/index.js", "y")
      const { items } = yield* diffOf(run)
      assert.deepStrictEqual(textOf(items), ["modified a/b.txt", "added a/c.txt"])
      assert.include(items[0]?.hunks[0]?.lines ?? [], "\\ No newline at end of file")
    })
  )

  it.effect("keeps the diff of a run that has ended, also when the workspace changes later", () =>
    Effect.gen(function* () {
      const run = yield* prepared(repository)
      edit(run.root)
      const summary = yield* run.snapshots.after(run.runId, run.root)
      assert.deepStrictEqual(summary, { files: 5, additions: 2, deletions: 2 })
      const then = yield* diffOf(run)
      git(run.root, "add", "-A")
      git(run.root, "commit", "-q", "-m", "later")
      put(run.root, "edited.txt", "something else\n")
      assert.deepStrictEqual(yield* diffOf(run), then)
      const restarted = yield* openSnapshots(configured(run.home))
      assert.deepStrictEqual(yield* restarted.diff(run.runId, run.root, undefined, 200), then)
    })
  )

  it.effect("writes nothing into the workspace or its repository", () =>
    Effect.gen(function* () {
      const files = (root: string) =>
        (readdirSync(root, { recursive: true }) as ReadonlyArray<string>).toSorted().join("\n")
      const seen = { before: "", index: Buffer.alloc(0) }
      const run = yield* prepared((root) => {
        repository(root)
        seen.before = files(root)
        seen.index = readFileSync(join(root, ".git/index"))
      })
      yield* run.snapshots.after(run.runId, run.root)
      yield* diffOf(run)
      assert.strictEqual(files(run.root), seen.before)
      assert.deepStrictEqual(readFileSync(join(run.root, ".git/index")), seen.index)
    })
  )

  it.effect("runs no program that a repository names", () =>
    Effect.gen(function* () {
      const evil = yield* temporaryFolder
      const trace = join(evil, "ran")
      const program = join(evil, "evil.sh")
      writeFileSync(program, `#!/bin/sh\ntouch ${trace}\ncat\n`)
      chmodSync(program, 0o755)
      const run = yield* prepared((root) => {
        repository(root)
        for (const key of [
          "core.fsmonitor",
          "diff.external",
          "filter.x.clean",
          "filter.x.smudge",
          "diff.x.textconv",
          "core.pager",
          "core.sshCommand"
        ])
          git(root, "config", key, program)
        put(root, ".gitattributes", "* filter=x diff=x\n")
        for (const hook of ["post-index-change", "pre-commit", "post-checkout", "fsmonitor-watchman"]) {
          writeFileSync(join(root, ".git/hooks", hook), `#!/bin/sh\ntouch ${trace}\n`)
          chmodSync(join(root, ".git/hooks", hook), 0o755)
        }
        rmSync(trace, { force: true })
      })
      edit(run.root)
      yield* run.snapshots.after(run.runId, run.root)
      assert.isNotEmpty((yield* diffOf(run)).items)
      assert.isFalse(existsSync(trace))
    })
  )

  it.effect("reads names as they are, and follows no link", () =>
    Effect.gen(function* () {
      const outside = yield* temporaryFolder
      put(outside, "secret", "hidden")
      const run = yield* prepared((root) => put(root, "a", "1"))
      const names = [
        "ü.txt",
        'quo"te',
        "line\nbreak",
        "tab\t",
        " lead",
        "-dash",
        "back\\slash",
        ":colon",
        "*star",
        "a b"
      ]
      for (const name of names) put(run.root, name, `${name}\n`)
      symlinkSync(outside, join(run.root, "link"))
      const { items } = yield* diffOf(run)
      assert.deepStrictEqual(
        items.map(({ path }) => path),
        [...names, "link"].toSorted()
      )
      for (const { hunks, path } of items) assert.strictEqual(hunks.length, 1, path)
      assert.notInclude(JSON.stringify(items), "hidden")
    })
  )

  it.effect("gives pages, each file once, and cuts what is too long", () =>
    Effect.gen(function* () {
      const run = yield* prepared((root) => put(root, "a", "1"))
      for (let n = 0; n < 30; n++) put(run.root, `f${n}`, `${n}\n`)
      put(run.root, "huge", "line\n".repeat(3_000_000))
      yield* run.snapshots.after(run.runId, run.root)
      const seen: Array<FileDiff> = []
      for (let position: string | undefined; ;) {
        const { additions, items } = yield* run.snapshots.diff(run.runId, run.root, position, 7)
        assert.strictEqual(additions, 3_000_030)
        if (items.length === 0) break
        seen.push(...items)
        position = items.at(-1)?.path
      }
      assert.strictEqual(new Set(seen.map(({ path }) => path)).size, 31)
      assert.strictEqual(seen.find(({ path }) => path === "huge")?.truncated, true)
    })
  )

  it.live("says without git that changes are unknown, and still names files by their times", () =>
    Effect.gen(function* () {
      const run = yield* prepared((root) => put(root, "a", "1"), "/nowhere")
      put(run.root, "b", "2")
      const unknown = { code: "changes_unknown", details: { reason: "no_git" } } as const
      assert.deepInclude(yield* Effect.flip(run.snapshots.after(run.runId, run.root)), unknown)
      assert.deepInclude(yield* Effect.flip(diffOf(run)), unknown)
      assert.deepStrictEqual(yield* run.snapshots.changed(run.runId, run.root), ["b"])
    })
  )

  it.effect("names ignored files and hooks that changed, and none that was only read", () =>
    Effect.gen(function* () {
      const run = yield* prepared(repository)
      readFileSync(join(run.root, "kept.txt"))
      git(run.root, "status")
      yield* run.snapshots.after(run.runId, run.root)
      assert.deepStrictEqual(yield* run.snapshots.changed(run.runId, run.root), [])
      put(run.root, "ignored/cache", "2")
      put(run.root, ".git/hooks/pre-commit", "#!/bin/sh\n")
      rmSync(join(run.root, "gone.txt"))
      yield* run.snapshots.after(run.runId, run.root)
      assert.deepStrictEqual(yield* run.snapshots.changed(run.runId, run.root), [
        ".git/hooks/pre-commit",
        "gone.txt",
        "ignored/cache"
      ])
    })
  )

  const Edit = Schema.Struct({
    path: Schema.Literals(["a", "b", "d/a", "d/b", "d/e/a"]),
    content: Schema.UndefinedOr(Schema.Literals(["", "x", "x\n", "x\ny\n", "1\n2\n3\n4\n5\n", "x\r\n"]))
  })
  const apply = (root: string, edits: ReadonlyArray<typeof Edit.Type>) => {
    for (const { content, path } of edits) {
      if (content === undefined) rmSync(join(root, path), { force: true })
      else put(root, path, content)
    }
  }
  /** What a file becomes when the hunks are applied to it. */
  const patched = (before: string, hunks: FileDiff["hunks"]): string => {
    const old = before.split("\n")
    const out: Array<string> = []
    let at = 0
    let open = before !== "" && !before.endsWith("\n")
    for (const { lines, oldLines, oldStart } of hunks) {
      const start = oldLines === 0 ? oldStart : oldStart - 1
      out.push(...old.slice(at, start))
      at = start
      lines.forEach((line, n) => {
        if (line.startsWith("\\")) return
        if (line.startsWith("+") || line.startsWith(" ")) {
          out.push(line.slice(1))
          open = lines[n + 1]?.startsWith("\\") === true
        }
        if (line.startsWith("-") || line.startsWith(" ")) at++
      })
    }
    const rest = before.endsWith("\n") ? old.slice(at, -1) : old.slice(at)
    if (rest.length > 0 && at < old.length && before !== "") {
      out.push(...rest)
      open = !before.endsWith("\n")
    }
    return out.join("\n") + (out.length > 0 && !open ? "\n" : "")
  }

  it.effect.prop(
    "gives a diff that makes of every file before what is there after",
    [
      Arbitrary.array(Arbitrary.schema(Edit), { maxLength: 6 }),
      Arbitrary.array(Arbitrary.schema(Edit), { maxLength: 6 })
    ],
    ([first, second]) =>
      Effect.gen(function* () {
        const run = yield* prepared((root) => apply(root, first))
        const contents = () =>
          new Map(
            readdirSync(run.root, { recursive: true, withFileTypes: true })
              .filter((entry) => entry.isFile())
              .map((entry) => {
                const file = join(entry.parentPath, entry.name)
                return [file.slice(run.root.length + 1), readFileSync(file, "utf8")] as const
              })
          )
        const files = contents()
        apply(run.root, second)
        for (const { fromPath, hunks, path, status } of (yield* diffOf(run)).items) {
          const before = files.get(fromPath ?? path) ?? ""
          if (fromPath !== undefined) files.delete(fromPath)
          if (status === "deleted") files.delete(path)
          else files.set(path, patched(before, hunks))
        }
        assert.deepStrictEqual(new Map([...files].toSorted()), new Map([...contents()].toSorted()))
      }).pipe(Effect.scoped),
    tries(15)
  )
})
