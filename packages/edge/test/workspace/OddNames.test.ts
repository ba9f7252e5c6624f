/** Names that are not UTF-8: each file has its own text, in listings and in diffs. */
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { writeFileSync } from "node:fs"
import { listFolder, previewFile } from "../../src/workspace/WorkspaceFiles.ts"
import { pathBytes, pathText } from "../../src/workspace/PathText.ts"
import { tries } from "@corral/testing/time/Effort"
import { newRunId } from "../Samples.ts"
import { changesBy, snapshotPlace } from "./SnapshotPlace.ts"

const at = (root: string, name: Buffer): Buffer => Buffer.concat([Buffer.from(`${root}/`), name])
const odd = [
  "caf\xe9",
  "caf\xe8",
  "\xff",
  "a\xc3",
  "\xed\xa0\x80",
  "ok\xef\xbf\xbdE9",
  "\xef\xbf\xbd",
  "*\xe9[x]?\\"
].map((name) => Buffer.from(name, "latin1"))

describe("Names that are not UTF-8", () => {
  it.effect.prop(
    "have different texts that lead back to them",
    [
      Arbitrary.array(
        Arbitrary.schema(
          Schema.Literals([0x41, 0xe9, 0xc3, 0xa9, 0xef, 0xbf, 0xbd, 0x45, 0x39, 0xf0, 0x9f, 0x98, 0x80])
        ),
        { maxLength: 12 }
      )
    ],
    ([bytes]) =>
      Effect.sync(() => {
        const name = Buffer.from(bytes)
        assert.deepStrictEqual(pathBytes(pathText(name)), name)
      }),
    tries(500)
  )

  it("lead to no separator and no folder above", () => {
    for (const text of ["\uFFFD2F", "\uFFFD2E\uFFFD2E", "\uFFFD00", "\uFFFD"])
      assert.strictEqual(pathBytes(text).toString(), text)
  })

  it.live("appear in a diff, each with its content", () =>
    Effect.gen(function* () {
      const place = yield* snapshotPlace()
      const { items } = yield* changesBy(place, () => {
        for (const name of odd) writeFileSync(at(place.root, name), `${name.toString("hex")}\n`)
      })
      assert.deepStrictEqual(
        items.map(({ path }) => path),
        odd.map(pathText).toSorted()
      )
      for (const { hunks, path } of items)
        assert.deepStrictEqual(hunks[0]?.lines, [`+${pathBytes(path).toString("hex")}`])
    }).pipe(Effect.scoped)
  )

  it.live("appear in a listing, and can be opened by their text", () =>
    Effect.gen(function* () {
      const { root } = yield* snapshotPlace()
      for (const name of odd) writeFileSync(at(root, name), name.toString("hex"))
      const entries = yield* listFolder(root, "", undefined, 100)
      assert.deepStrictEqual(
        entries.map(({ name }) => name),
        odd.map(pathText).toSorted()
      )
      for (const { path } of entries)
        assert.strictEqual((yield* previewFile(root, path)).content, pathBytes(path).toString("hex"))
    }).pipe(Effect.scoped)
  )

  it.live("are seen in a run that may change nothing", () =>
    Effect.gen(function* () {
      const { root, snapshots } = yield* snapshotPlace()
      const runId = newRunId()
      yield* snapshots.mark(runId)
      writeFileSync(at(root, Buffer.from("caf\xe9", "latin1")), "1")
      assert.deepStrictEqual(yield* snapshots.changed(runId, root), ["caf\uFFFDE9"])
    }).pipe(Effect.scoped)
  )
})
