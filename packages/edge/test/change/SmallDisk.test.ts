/** Acceptance into a workspace on another disk, which is full, then read-only, then has room again. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { mkdirSync, readdirSync } from "node:fs"
import { Changes } from "../../src/change/Changes.ts"
import { temporaryFolder } from "../Folder.ts"
import { newRunId } from "../Samples.ts"
import {
  changeServices,
  decider,
  everything,
  placeAt,
  readTree,
  shownTree,
  workInLayer,
  writeTree
} from "./ChangePlace.ts"
import type { Tree, TreeFile } from "./RandomTrees.ts"

const file = (content: string | Buffer): TreeFile => ({ mode: "100644", content: Buffer.from(content) })
const base: Tree = new Map([
  ["a", file("a\n")],
  ["big", file("b")],
  ["c", file("c")]
])
const result: Tree = new Map([
  ["a", file("A\n")],
  ["big", file(Buffer.alloc(2 * 1_048_576, 1))],
  ["x/y", file("y")]
])

const canMount = process.getuid?.() === 0

describe.skipIf(!canMount)("Acceptance into a workspace on another disk", () => {
  it.live("changes nothing while the disk is full or read-only", () =>
    Effect.gen(function* () {
      const place = placeAt(yield* temporaryFolder, newRunId())
      for (const each of [place.home, place.root, place.view]) mkdirSync(each)
      const mount = (...args: ReadonlyArray<string>) =>
        assert.strictEqual(spawnSync("mount", [...args, place.root]).status, 0)
      yield* Effect.acquireRelease(
        Effect.sync(() => mount("-t", "tmpfs", "-o", "size=1m", "tmpfs")),
        () => Effect.sync(() => spawnSync("umount", ["-l", place.root]))
      )
      writeTree(place.root, base)
      yield* Effect.gen(function* () {
        yield* workInLayer(place, result)
        const changes = yield* Changes
        const parts = everything(yield* changes.summary(place.run.id))
        const refused = Effect.flip(changes.accept(place.run.id, { parts }, decider))
        assert.strictEqual((yield* refused).code, "overloaded")
        assert.deepStrictEqual(shownTree(readTree(place.root)), shownTree(base))
        assert.deepStrictEqual(readdirSync(place.root), [...base.keys()])
        mount("-o", "remount,ro")
        assert.strictEqual((yield* refused).code, "permission_denied")
        mount("-o", "remount,rw,size=8m")
        yield* changes.accept(place.run.id, { parts }, decider)
        assert.deepStrictEqual(shownTree(readTree(place.root)), shownTree(result))
      }).pipe(Effect.provide(changeServices(place)))
    }).pipe(Effect.scoped)
  )
})
