/** Decisions that ended in the middle, where the next Edge finds another workspace than the last one had. */
import type { ChangeDecisionId } from "@corral/domain/identity/Ids"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { mkdirSync, readdirSync, renameSync, rmSync } from "node:fs"
import { putJournal } from "../../src/change/ChangeRows.ts"
import { changeSetIdOf } from "../../src/change/ChangeIds.ts"
import { Changes } from "../../src/change/Changes.ts"
import type { FileOperations } from "../../src/change/FolderFiles.ts"
import { Store } from "../../src/store/Store.ts"
import {
  changePlace,
  type ChangePlace,
  changeServices,
  decider,
  everything,
  readTree,
  shownTree,
  workInLayer
} from "./ChangePlace.ts"
import { newRunId } from "../Samples.ts"
import { steppedOperations } from "./Decisions.ts"
import type { Tree, TreeFile } from "./RandomTrees.ts"

const file = (content: string): TreeFile => ({ mode: "100644", content: Buffer.from(content) })
const base: Tree = new Map(["a", "b", "c"].map((name) => [name, file(`${name}\n`)]))
const result: Tree = new Map([
  ["a", file("changed\n")],
  ["b", file("changed, too\n")],
  ["d/e", file("new\n")]
])

/** A disk that fails for good with the first new name. */
const failing = (): FileOperations => {
  let isGone = false
  return steppedOperations((name) => {
    isGone ||= name === "link"
    if (isGone) throw new Error("EIO: the disk is gone")
  })
}

const journal = Effect.map(Store, (store) => store.all("SELECT id FROM change_journal").length)

/** A place whose acceptance ended in the middle. */
const halfAccepted = Effect.gen(function* () {
  const place = yield* changePlace(base)
  yield* workInLayer(place, result).pipe(Effect.provide(changeServices(place)))
  yield* Effect.gen(function* () {
    const changes = yield* Changes
    const set = yield* changes.summary(place.run.id)
    yield* Effect.flip(changes.accept(place.run.id, { parts: everything(set) }, decider))
  }).pipe(Effect.provide(changeServices(place, failing())))
  assert.notDeepEqual(shownTree(readTree(place.root)), shownTree(base))
  return place
})

/** A decision about a layer that is removed before the next start. */
const putLost = Effect.fnUntraced(function* ({ root }: ChangePlace) {
  const id = "chd_00000000000000000000000000" as ChangeDecisionId
  const runId = newRunId()
  const plan = { id, steps: [], cleared: [], created: [] }
  const entry = { setId: changeSetIdOf(runId), runId, state: "ready", place: "layer", root, plan } as const
  yield* (yield* Store).commit([putJournal(id, entry)])
})

/** What the next Edge has in its journal after its start. */
const nextStart = (place: ChangePlace) => Effect.provide(journal, changeServices(place))

describe("The start after a decision that ended in the middle", () => {
  it.live("reverses it", () =>
    Effect.gen(function* () {
      const place = yield* halfAccepted
      assert.strictEqual(yield* nextStart(place), 0)
      assert.deepStrictEqual(shownTree(readTree(place.root)), shownTree(base))
    }).pipe(Effect.scoped)
  )

  it.live("forgets one in a layer that was removed, which would hold up all others", () =>
    Effect.gen(function* () {
      const place = yield* halfAccepted
      yield* putLost(place).pipe(Effect.provide(changeServices(place)))
      assert.strictEqual(yield* nextStart(place), 0)
    }).pipe(Effect.scoped)
  )

  for (const kind of ["missing", "an empty folder"] as const)
    it.live(`waits if the workspace is ${kind}, as on a disk that is not there yet`, () =>
      Effect.gen(function* () {
        const place = yield* halfAccepted
        const away = `${place.root}.away`
        renameSync(place.root, away)
        if (kind !== "missing") mkdirSync(place.root)
        assert.strictEqual(yield* nextStart(place), 1)
        if (kind !== "missing") {
          assert.deepStrictEqual(readdirSync(place.root), [])
          rmSync(place.root, { recursive: true })
        }
        renameSync(away, place.root)
        assert.strictEqual(yield* nextStart(place), 0)
        assert.deepStrictEqual(shownTree(readTree(place.root)), shownTree(base))
      }).pipe(Effect.scoped)
    )
})
