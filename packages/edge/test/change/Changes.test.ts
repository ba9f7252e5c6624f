/** Decisions about changes of a layer: what they write, what they refuse, and how they are reversed. */
import type { ChangedFile } from "@corral/domain/edge-api/ChangeSet"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  existsSync,
  lstatSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
  chmodSync,
  mkdirSync
} from "node:fs"
import { join } from "node:path"
import { Changes } from "../../src/change/Changes.ts"
import { decisionsSince, decidedNote } from "../../src/change/DecidedNote.ts"
import { Store } from "../../src/store/Store.ts"
import {
  changePlace,
  changeServices,
  type ChangePlace,
  decider,
  everything,
  readTree,
  shownTree,
  workInLayer
} from "./ChangePlace.ts"
import type { Tree, TreeFile } from "./RandomTrees.ts"

const text = (content: string): TreeFile => ({ mode: "100644", content: Buffer.from(content) })
const treeOf = (files: Readonly<Record<string, TreeFile>>): Tree => new Map(Object.entries(files))
const long = Array.from({ length: 40 }, (_, n) => `line ${n}\n`)
const with_ = (...edits: ReadonlyArray<readonly [number, string]>): string =>
  long.map((line, n) => edits.find(([at]) => at === n)?.[1] ?? line).join("")

const inPlace = <A, E>(
  base: Tree,
  result: Tree,
  use: (place: ChangePlace) => Effect.Effect<A, E, Changes | Store>
) =>
  Effect.gen(function* () {
    const place = yield* changePlace(base)
    return yield* Effect.andThen(workInLayer(place, result), use(place)).pipe(
      Effect.provide(changeServices(place))
    )
  }).pipe(Effect.scoped)

const at = ({ root }: ChangePlace, name: string) => join(root, name)
const content = (place: ChangePlace, name: string) => readFileSync(at(place, name), "utf8")
const fileNamed = (files: ReadonlyArray<ChangedFile>, path: string): ChangedFile => {
  const file = files.find((each) => each.path === path)
  if (file === undefined) throw new Error(`no ${path}`)
  return file
}

describe("Changes", () => {
  it.live("lists files with their hunks, and accepts one hunk, then the rest", () =>
    inPlace(
      treeOf({ "a.txt": text(long.join("")), "b.txt": text("b\n") }),
      treeOf({ "a.txt": text(with_([2, "two\n"], [30, "thirty\n"])), "c.txt": text("c\n") }),
      (place) =>
        Effect.gen(function* () {
          const changes = yield* Changes
          const { items, set } = yield* changes.read(place.run.id, undefined, 10)
          assert.deepStrictEqual(
            items.map(({ hunks, path, status, whole }) => [path, status, hunks, whole]),
            [
              ["a.txt", "modified", 2, undefined],
              ["b.txt", "deleted", 1, "deleted"],
              ["c.txt", "added", 1, "added"]
            ]
          )
          assert.deepInclude(set, { state: "open", fileCount: 3, additions: 3, deletions: 3, live: false })
          const file = yield* changes.readFile(place.run.id, fileNamed(items, "a.txt").id, {
            position: undefined,
            limit: 10,
            context: 5
          })
          assert.deepStrictEqual(file.items[1]?.lines[0], " line 25")
          const added = yield* changes.readFile(place.run.id, fileNamed(items, "c.txt").id, {
            position: undefined,
            limit: 10
          })
          assert.deepStrictEqual(
            added.items.map((hunk) => hunk.lines),
            [["+c"]]
          )
          const [, second] = file.items
          const first = yield* changes.accept(
            place.run.id,
            { parts: { hunks: second === undefined ? [] : [second.id] } },
            decider
          )
          assert.strictEqual(content(place, "a.txt"), with_([30, "thirty\n"]))
          assert.deepInclude(first.decision, { kind: "accept", additions: 1, deletions: 1, fileCount: 1 })
          assert.deepInclude(first.set, { state: "open", fileCount: 3, additions: 2, deletions: 2 })
          const again = yield* changes
            .accept(place.run.id, { parts: { hunks: second === undefined ? [] : [second.id] } }, decider)
            .pipe(Effect.flip)
          assert.strictEqual(again.code, "changes_outdated")
          const rest = yield* changes.accept(place.run.id, { parts: everything(first.set) }, decider)
          assert.deepInclude(rest.set, { state: "decided", fileCount: 0 })
          assert.deepStrictEqual(shownTree(readTree(place.root)), shownTree(readTree(place.view)))
        })
    )
  )

  it.live("rejects a hunk out of the layer, and tells the agent of it", () =>
    inPlace(
      treeOf({ "a.txt": text(long.join("")) }),
      treeOf({ "a.txt": text(with_([2, "two\n"], [30, "thirty\n"])), "new/x.txt": text("x\n") }),
      (place) =>
        Effect.gen(function* () {
          const changes = yield* Changes
          const { items } = yield* changes.read(place.run.id, undefined, 10)
          const { items: hunks } = yield* changes.readFile(place.run.id, fileNamed(items, "a.txt").id, {
            position: undefined,
            limit: 10
          })
          const parts = {
            hunks: hunks.slice(0, 1).map(({ id }) => id),
            files: [fileNamed(items, "new/x.txt").id]
          }
          const { decision, set } = yield* changes.reject(
            place.run.id,
            { parts, comment: "not here" },
            decider
          )
          assert.strictEqual(readFileSync(join(place.view, "a.txt"), "utf8"), with_([30, "thirty\n"]))
          assert.isFalse(existsSync(join(place.view, "new")))
          assert.strictEqual(content(place, "a.txt"), long.join(""))
          assert.deepInclude(set, { fileCount: 1, additions: 1, deletions: 1 })
          const decisions = decisionsSince(yield* Store, place.run)
          assert.deepStrictEqual(
            decisions.map(({ comment, kind }) => [kind, comment]),
            [["reject", "not here"]]
          )
          assert.include(decidedNote(decisions), "- new/x.txt\nComment: not here")
          const none = yield* Effect.flip(
            changes.undo(place.run.id, { decisionId: decision.id, files: [] }, decider)
          )
          assert.strictEqual(none.code, "schema_validation_failed")
          yield* changes.undo(place.run.id, { decisionId: decision.id, files: parts.files }, decider)
          assert.strictEqual(readFileSync(join(place.view, "new/x.txt"), "utf8"), "x\n")
          assert.deepStrictEqual(
            decisionsSince(yield* Store, place.run).map(({ rejected = [] }) =>
              rejected.map(({ path }) => path)
            ),
            [["a.txt"], []],
            "what the undo put back is no longer among the rejected parts"
          )
          const undone = yield* changes.undo(place.run.id, { decisionId: decision.id }, decider)
          assert.deepInclude(undone.decision, { fileCount: 1, additions: 1, deletions: 1 })
          assert.deepInclude(undone.set, { fileCount: 2, additions: 3, deletions: 2 })
        })
    )
  )

  it.live("undoes some files with their own counts, and the rest later", () =>
    inPlace(
      treeOf({ "a.txt": text(long.join("")), "b.txt": text("1\n") }),
      treeOf({
        "a.txt": text(with_([2, "two\n"], [30, "thirty\n"])),
        "b.txt": text("1\n2\n"),
        c: text("c\n")
      }),
      (place) =>
        Effect.gen(function* () {
          const changes = yield* Changes
          const { items, set } = yield* changes.read(place.run.id, undefined, 10)
          const [a, b, c] = ["a.txt", "b.txt", "c"].map((path) => fileNamed(items, path).id)
          const accepted = yield* changes.accept(place.run.id, { parts: everything(set) }, decider)
          assert.deepInclude(accepted.decision, { fileCount: 3, additions: 4, deletions: 2 })
          const decisionId = accepted.decision.id
          const undo = (files?: ReadonlyArray<typeof a>) =>
            changes.undo(
              place.run.id,
              { decisionId, ...(files === undefined ? {} : { files: files.flatMap((id) => id ?? []) }) },
              decider
            )
          const first = yield* undo([b])
          assert.deepInclude(first.decision, { fileCount: 1, additions: 0, deletions: 1 })
          assert.deepStrictEqual(
            first.decision.files.map(({ hunks, path }) => [path, hunks]),
            [["b.txt", 1]]
          )
          assert.isUndefined(first.set.decisions[1]?.reversedBy)
          assert.strictEqual(content(place, "b.txt"), "1\n")
          // It is undecided, and the person accepts it after all.
          const rest = yield* changes.read(place.run.id, undefined, 10)
          yield* changes.accept(place.run.id, { parts: everything(rest.set) }, decider)
          assert.strictEqual((yield* Effect.flip(undo([b, c]))).code, "changes_outdated")
          const second = yield* undo()
          assert.deepInclude(second.decision, { fileCount: 2, additions: 2, deletions: 3 })
          assert.deepStrictEqual(
            second.decision.files.map(({ id }) => id),
            [a, c]
          )
          assert.strictEqual(content(place, "a.txt"), long.join(""))
          assert.isFalse(existsSync(at(place, "c")))
          assert.strictEqual(content(place, "b.txt"), "1\n2\n")
          assert.strictEqual(
            second.set.decisions.find(({ id }) => id === decisionId)?.reversedBy,
            second.decision.id
          )
          assert.strictEqual((yield* Effect.flip(undo())).code, "conflict")
        })
    )
  )

  it.live("merges the person's edits, and shows both sides where they overlap", () =>
    inPlace(
      treeOf({ "a.txt": text(long.join("")), "b.txt": text("1\n") }),
      treeOf({ "a.txt": text(with_([2, "two\n"])), "b.txt": text("2\n") }),
      (place) =>
        Effect.gen(function* () {
          const changes = yield* Changes
          writeFileSync(at(place, "a.txt"), with_([30, "mine\n"]))
          writeFileSync(at(place, "b.txt"), "3\n")
          const { items, set } = yield* changes.read(place.run.id, undefined, 10)
          const refused = yield* changes
            .accept(place.run.id, { parts: everything(set) }, decider)
            .pipe(Effect.flip)
          assert.strictEqual(refused.code, "merge_conflict")
          assert.deepStrictEqual(refused.details, {
            files: [
              {
                id: fileNamed(items, "b.txt").id,
                path: "b.txt",
                base: "1\n",
                workspace: "3\n",
                change: "2\n"
              }
            ]
          })
          assert.strictEqual(content(place, "a.txt"), with_([30, "mine\n"]))
          const { decision } = yield* changes.accept(
            place.run.id,
            { parts: { files: [fileNamed(items, "a.txt").id] } },
            decider
          )
          assert.strictEqual(content(place, "a.txt"), with_([2, "two\n"], [30, "mine\n"]))
          writeFileSync(at(place, "a.txt"), with_([2, "two\n"], [20, "more\n"], [30, "mine\n"]))
          const undone = yield* changes.undo(place.run.id, { decisionId: decision.id }, decider)
          assert.strictEqual(content(place, "a.txt"), with_([20, "more\n"], [30, "mine\n"]))
          assert.strictEqual(undone.set.fileCount, 2)
          assert.strictEqual(undone.set.decisions[1]?.reversedBy, undone.decision.id)
        })
    )
  )

  it.live("keeps apart what a person has to name", () =>
    inPlace(
      treeOf({ "run.txt": text("x\n") }),
      treeOf({
        "run.txt": { mode: "100755", content: Buffer.from("x\n") },
        ".github/workflows/ci.yml": text("on: push\n"),
        "key.txt": text("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEQ\n"),
        up: { mode: "120000", content: Buffer.from("../../etc/passwd") },
        "src/ok.ts": text("export {}\n")
      }),
      (place) =>
        Effect.gen(function* () {
          const changes = yield* Changes
          chmodSync(join(place.view, "src/ok.ts"), 0o4644)
          const { items, set } = yield* changes.read(place.run.id, undefined, 10)
          assert.deepStrictEqual(
            items.map(({ apart, path }) => [path, apart]),
            [
              [".github/workflows/ci.yml", ["protected_name"]],
              ["key.txt", ["secret"]],
              ["run.txt", ["new_program"]],
              ["src/ok.ts", ["set_id"]],
              ["up", ["outside_link"]]
            ]
          )
          assert.strictEqual(set.apart, 5)
          const refused = yield* changes
            .accept(place.run.id, { parts: everything(set) }, decider)
            .pipe(Effect.flip)
          assert.strictEqual(refused.code, "schema_validation_failed")
          yield* changes.accept(place.run.id, { parts: { files: items.map(({ id }) => id) } }, decider)
          assert.strictEqual(lstatSync(at(place, "run.txt")).mode & 0o111, 0o111)
          assert.strictEqual(lstatSync(at(place, "src/ok.ts")).mode & 0o7000, 0)
          assert.isTrue(lstatSync(at(place, "up")).isSymbolicLink())
        })
    )
  )

  it.live("keeps links apart that lead out through another link", () => {
    const link = (target: string): TreeFile => ({ mode: "120000", content: Buffer.from(target) })
    return inPlace(
      treeOf({ "a.txt": text("1\n"), "sub/deep/b.txt": text("b\n") }),
      treeOf({
        "a.txt": text("1\n"),
        "sub/deep/b.txt": text("b\n"),
        "sub/deep/top": link("../.."),
        "sub/inside": link("./deep/b.txt"),
        // From the top of the workspace, one folder up.
        "z-dots": link("sub/deep/top/../outside"),
        "z-up": link("sub/../../outside")
      }),
      (place) =>
        Effect.gen(function* () {
          const { items } = yield* (yield* Changes).read(place.run.id, undefined, 10)
          assert.deepStrictEqual(
            items.map(({ apart, path }) => [path, apart]),
            [
              ["sub/deep/top", undefined],
              ["sub/inside", undefined],
              ["z-dots", ["outside_link"]],
              ["z-up", ["outside_link"]]
            ]
          )
        })
    )
  })

  it.live("follows no link out of the workspace", () =>
    inPlace(
      treeOf({ "a.txt": text("1\n") }),
      treeOf({ "a.txt": text("2\n"), "sub/new.txt": text("n\n") }),
      (place) =>
        Effect.gen(function* () {
          const changes = yield* Changes
          const outside = join(place.folder, "outside")
          mkdirSync(outside)
          symlinkSync(outside, at(place, "sub"))
          const { set } = yield* changes.read(place.run.id, undefined, 10)
          const refused = yield* changes
            .accept(place.run.id, { parts: everything(set) }, decider)
            .pipe(Effect.flip)
          assert.strictEqual(refused.code, "merge_conflict")
          assert.isFalse(existsSync(join(outside, "new.txt")))
          assert.strictEqual(content(place, "a.txt"), "1\n")
        })
    )
  )

  it.live("turns files into folders and folders into files", () =>
    inPlace(
      treeOf({ file: text("f\n"), "folder/a": text("a\n"), "folder/b/c": text("c\n") }),
      treeOf({ "file/in": text("f2\n"), folder: text("now a file\n") }),
      (place) =>
        Effect.gen(function* () {
          const changes = yield* Changes
          const { set } = yield* changes.read(place.run.id, undefined, 10)
          const { decision } = yield* changes.accept(place.run.id, { parts: everything(set) }, decider)
          assert.deepStrictEqual(shownTree(readTree(place.root)), shownTree(readTree(place.view)))
          yield* changes.undo(place.run.id, { decisionId: decision.id }, decider)
          assert.strictEqual(content(place, "folder/b/c"), "c\n")
          assert.strictEqual(content(place, "file"), "f\n")
        })
    )
  )

  it.live("refuses a file whose content is not the one that was shown", () =>
    inPlace(treeOf({}), treeOf({ "a.txt": text("1\n") }), (place) =>
      Effect.gen(function* () {
        const changes = yield* Changes
        const { items } = yield* changes.read(place.run.id, undefined, 10)
        const { id, version } = fileNamed(items, "a.txt")
        writeFileSync(join(place.view, "a.txt"), "2\n")
        const parts = { files: [id], versions: { [id]: version } }
        const refused = yield* changes.accept(place.run.id, { parts }, decider).pipe(Effect.flip)
        assert.strictEqual(refused.code, "changes_outdated")
        assert.isFalse(existsSync(at(place, "a.txt")))
      })
    )
  )
})
