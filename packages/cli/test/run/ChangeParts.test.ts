/** Change sets on the command line: lines, and parts by their names. */
import type { ChangedFile, ChangeSet } from "@corral/domain/edge-api/ChangeSet"
import type { ChangedFileId, ChangeHunkId, RunId } from "@corral/domain/identity/Ids"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { CommandFailed, refused } from "../../src/CommandFailed.ts"
import {
  changeRows,
  decideNamed,
  explainConflict,
  filesNamed,
  hunkRows,
  lastDecision
} from "../../src/run/ChangeParts.ts"

const fileId = (digit: string) => digit.repeat(32) as ChangedFileId

const file = (path: string, more: Partial<ChangedFile> = {}): ChangedFile => ({
  id: fileId("a"),
  path,
  status: "modified",
  binary: false,
  additions: 2,
  deletions: 1,
  hunks: 2,
  version: "v",
  ...more
})

// Only what lines show.
const set = {
  state: "open",
  fileCount: 2,
  apart: 1,
  live: false,
  direct: false,
  ignored: [{ folder: "node_modules", count: 1 }],
  commits: [],
  decisions: []
} as unknown as ChangeSet

const textOf = (rows: ReturnType<typeof changeRows>) =>
  rows.map((row) => row.map(({ text }) => text).join(""))

describe("changes on the command line", () => {
  it("say how many hunks a file has, and why it is apart", () => {
    const items = [
      file("src/a.ts"),
      file("b\u001b[31m.sh", { id: fileId("b"), status: "added", hunks: 1, apart: ["new_program", "secret"] })
    ]
    assert.deepStrictEqual(textOf(changeRows({ items, set })), [
      "aaaaaaaa  modified  +2 -1  src/a.ts  (2 hunks)",
      "bbbbbbbb  added     +2 -1  b␛[31m.sh  (new program, has a secret)",
      "Not part of --all: 1 file. Name them with --file.",
      "ignored: node_modules (1 file)"
    ])
  })

  it("show hunks with the start of their ids", () => {
    const id = "c".repeat(32) as ChangeHunkId
    const hunk = { id, oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, lines: ["-a", "+b"] }
    assert.deepStrictEqual(textOf(hunkRows({ file: file("a"), version: "v", items: [hunk] })), [
      "a",
      "cccccccc  @@ -1,1 +1,1 @@",
      "-a",
      "+b"
    ])
  })

  it.effect("names files by path or start of an id", () =>
    Effect.gen(function* () {
      const items = [file("abcd"), file("other", { id: fileId("b") })]
      const named = yield* filesNamed({ items }, ["abcd", "bbbb"])
      assert.deepStrictEqual(
        named.map(({ path }) => path),
        ["abcd", "other"]
      )
      const missing = yield* filesNamed({ items }, ["nothing"]).pipe(Effect.flip)
      assert.strictEqual(missing.message, "No changes of nothing.")
    })
  )

  it.effect("name the files of a conflict", () =>
    Effect.gen(function* () {
      const details = { files: [{ id: fileId("a"), path: "a.txt" }, "other"] }
      const failure = new CommandFailed({ message: "", exitCode: 2, code: "merge_conflict", details })
      const { message } = yield* explainConflict(Effect.fail(failure)).pipe(Effect.flip)
      assert.include(message, "\n  a.txt\n")
    })
  )

  it.effect("have a last decision that is neither an undo nor undone, or nothing to undo", () =>
    Effect.gen(function* () {
      const decisions = [
        { id: "chd_3", kind: "undo" },
        { id: "chd_2", kind: "accept", reversedBy: "chd_3" },
        { id: "chd_1", kind: "reject" }
      ]
      const last = yield* lastDecision({ decisions } as unknown as ChangeSet)
      assert.strictEqual(`${last}`, "chd_1")
      assert.isUndefined(yield* lastDecision({ ...set, direct: true }))
      const { message } = yield* Effect.flip(lastDecision(set))
      assert.strictEqual(message, "There is nothing to undo.")
    })
  )

  it.effect("are named in a chat by path, by the start of the id of a file, or by that of a hunk", () =>
    Effect.gen(function* () {
      const hunkId = "c".repeat(32) as ChangeHunkId
      const hunk = { id: hunkId, oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, lines: ["+b"] }
      const accepted = (name: string) =>
        decideNamed(
          {
            changes: () => Effect.succeed({ items: [file("src/a.ts")], set }),
            changedFile: () => Effect.succeed({ file: file("src/a.ts"), version: "v", items: [hunk] }),
            // The refusal has what was sent.
            decideChanges: (_, { payload }) => Effect.fail(refused(JSON.stringify(payload)))
          },
          "run_1" as RunId,
          "accept",
          name
        ).pipe(
          Effect.flip,
          Effect.map(({ message }) => JSON.parse(message))
        )
      const ofFile = { parts: { files: [fileId("a")], hunks: [], versions: { [fileId("a")]: "v" } } }
      assert.deepStrictEqual(yield* accepted("src/a.ts"), ofFile)
      assert.deepStrictEqual(yield* accepted("aaaaaaaa"), ofFile)
      assert.deepStrictEqual(yield* accepted("cccc"), { parts: { files: [], hunks: [hunkId], versions: {} } })
    })
  )

  it("are listed at the end of a turn, and say when nothing is left", () => {
    const empty = { ...set, fileCount: 0, apart: 0, ignored: [] }
    const shown = (more: Partial<ChangeSet>) => textOf(changeRows({ items: [], set: { ...empty, ...more } }))
    assert.deepStrictEqual(shown({ state: "empty", live: true }), [
      "No changes yet. They are listed when the turn has ended.",
      "A run is still working on these changes."
    ])
    assert.deepStrictEqual(shown({ state: "empty" }), ["The run changed no files."])
    assert.deepStrictEqual(shown({ state: "decided" }), ["Everything is decided."])
    assert.deepStrictEqual(shown({ state: "decided", direct: true }), ["Everything is undone."])
    const decisions = [
      { id: "chd_2", kind: "undo", by: "Ada", fileCount: 1, files: [{ path: "a.txt" }] },
      {
        id: "chd_1",
        kind: "accept",
        fileCount: 3,
        files: [{ path: "a.txt" }, { path: "b.txt" }],
        reversedBy: "chd_2"
      }
    ]
    assert.deepStrictEqual(
      textOf(
        changeRows({ items: [], set: { ...empty, state: "decided", decisions } as unknown as ChangeSet })
      ).slice(1),
      ["chd_2  undo of a.txt by Ada", "chd_1  accept of a.txt and 2 other files, undone"]
    )
  })
})
