import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { edgeGroup, makeGroup, ownGroup } from "../../src/process/ControlGroup.ts"
import { groupRecordPath, hasProof, leftGroups, recordGroups } from "../../src/process/GroupRecord.ts"
import { groupsHere } from "@corral/testing/edge/Survivors"
import { temporaryFolder } from "../Folder.ts"

let counter = 0

/** Two folders with a group of the same Edge in each. Removed with the test. */
const twoPlaces = Effect.gen(function* () {
  const home = yield* temporaryFolder
  const edgeId = `edge_record${process.pid}x${++counter}`
  const ownPath = ownGroup() ?? "(none)"
  const elsewhere = join(ownPath, `test-${edgeId}`)
  const groups = [edgeGroup(ownPath, edgeId), edgeGroup(elsewhere, edgeId)] as const
  yield* Effect.acquireRelease(
    Effect.sync(() => groups.forEach(makeGroup)),
    () =>
      Effect.sync(() =>
        [...groups, elsewhere].filter((each) => existsSync(each)).forEach((each) => rmdirSync(each))
      )
  )
  return { home, edgeId, own: ownPath, elsewhere, groups }
})

it("finds no group without a record and without a group", () => {
  assert.deepStrictEqual(leftGroups("/nowhere", `edge_record${process.pid}`), [])
})

describe.skipIf(groupsHere === undefined)("the record of group folders", () => {
  it.effect("limits the search to its folders", () =>
    Effect.gen(function* () {
      const { edgeId, elsewhere, groups, home, own } = yield* twoPlaces
      yield* recordGroups(home, own, [])
      assert.deepStrictEqual(leftGroups(home, edgeId), [groups[0]])
      yield* recordGroups(home, elsewhere, [])
      assert.deepStrictEqual(leftGroups(home, edgeId), [groups[1]])
      yield* recordGroups(home, undefined, [])
      assert.deepStrictEqual(leftGroups(home, edgeId), [])
    })
  )

  it.effect("is the proof of control groups for the folder of the last Edge", () =>
    Effect.gen(function* () {
      const { elsewhere, groups, home, own } = yield* twoPlaces
      assert.isFalse(hasProof(home, own))
      yield* recordGroups(home, own, groups)
      assert.isTrue(hasProof(home, own))
      assert.isFalse(hasProof(home, elsewhere), "a folder with groups that were left")
      const file = groupRecordPath(home)
      const { hierarchy, ...record } = JSON.parse(readFileSync(file, "utf8"))
      const [, ...rest] = JSON.parse(hierarchy)
      writeFileSync(file, JSON.stringify({ ...record, hierarchy: JSON.stringify(["another boot", ...rest]) }))
      assert.isFalse(hasProof(home, own), "another boot")
      yield* recordGroups(home, undefined, [])
      assert.isFalse(hasProof(home, own), "an Edge without control groups")
    })
  )

  it.effect("keeps the folders of groups that are still there, and no others", () =>
    Effect.gen(function* () {
      const { edgeId, groups, home, own } = yield* twoPlaces
      yield* recordGroups(home, own, groups)
      assert.deepStrictEqual(leftGroups(home, edgeId), groups)
      rmdirSync(groups[1])
      yield* recordGroups(home, own, groups)
      const { folders } = JSON.parse(readFileSync(groupRecordPath(home), "utf8"))
      assert.deepStrictEqual(folders, [resolve(own)])
    })
  )

  it.effect("does not count if it is missing, damaged, or of another boot, namespace or mount", () =>
    Effect.gen(function* () {
      const { edgeId, groups, home, own } = yield* twoPlaces
      const everywhere = groups.toSorted()
      assert.deepStrictEqual(leftGroups(home, edgeId).toSorted(), everywhere)
      const file = groupRecordPath(home)
      yield* recordGroups(home, own, [])
      assert.deepStrictEqual(leftGroups(home, edgeId), [groups[0]])
      const valid = readFileSync(file, "utf8")
      const { folders, hierarchy } = JSON.parse(valid)
      const [boot, namespace, ...mounts] = JSON.parse(hierarchy)
      const [[device, root, folder], ...others] = mounts
      const renamed = [
        ["another boot", namespace, ...mounts],
        [boot, "cgroup:[1]", ...mounts],
        [boot, namespace],
        [boot, namespace, ["0:99999", root, folder], ...others],
        [boot, namespace, [device, "/elsewhere", folder], ...others],
        [boot, namespace, [device, root, "/elsewhere"], ...others]
      ].map((name) => JSON.stringify({ hierarchy: JSON.stringify(name), folders }))
      for (const text of ["", valid.slice(0, -3), "[]", `{"hierarchy":1,"folders":[]}`, ...renamed]) {
        writeFileSync(file, text)
        assert.deepStrictEqual(leftGroups(home, edgeId).toSorted(), everywhere, text)
      }
      rmSync(file)
      mkdirSync(file)
      assert.deepStrictEqual(leftGroups(home, edgeId).toSorted(), everywhere, "unreadable")
    })
  )

  it.effect("is removed if it cannot be replaced", () =>
    Effect.gen(function* () {
      const { edgeId, elsewhere, groups, home, own } = yield* twoPlaces
      yield* recordGroups(home, own, [])
      mkdirSync(`${groupRecordPath(home)}.new`)
      yield* recordGroups(home, elsewhere, [])
      assert.isFalse(existsSync(groupRecordPath(home)))
      assert.deepStrictEqual(leftGroups(home, edgeId).toSorted(), groups.toSorted())
    })
  )
})
