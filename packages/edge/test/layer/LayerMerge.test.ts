/** Edits of a person that are merged into a layer: several at once, large ones, and with a disk that becomes full. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { storeContent } from "../../src/change/TreeContents.ts"
import { mergeEdits, type TreeState } from "../../src/layer/LayerMerge.ts"
import { FILE_MODE } from "../../src/workspace/IndexFile.ts"
import type { ShadowRepository } from "../../src/workspace/ShadowRepository.ts"
import { shadowPlace } from "../change/Subsets.ts"

/** Whether this process may mount a small disk. */
const canMount = process.getuid?.() === 0

const stateOf = (shadow: ShadowRepository, files: Readonly<Record<string, Buffer | string>>) =>
  Effect.map(
    Effect.forEach(Object.entries(files), ([path, content]) =>
      Effect.map(
        storeContent(shadow, Buffer.from(content)),
        (oid) => [path, { mode: FILE_MODE, oid }] as const
      )
    ),
    (entries): TreeState => new Map(entries)
  )

interface Sides {
  readonly base: Readonly<Record<string, Buffer | string>>
  readonly workspace: Readonly<Record<string, Buffer | string>>
  readonly layer: Readonly<Record<string, Buffer | string>>
}

const mergeAt = Effect.fnUntraced(function* (
  shadow: ShadowRepository,
  top: string,
  { base, layer, workspace }: Sides
) {
  return yield* mergeEdits({
    shadow,
    base: yield* stateOf(shadow, base),
    workspace: yield* stateOf(shadow, workspace),
    result: yield* stateOf(shadow, layer),
    top,
    shows: () => false
  })
})

const layerAt = (top: string, files: Sides["layer"]): void => {
  mkdirSync(top, { recursive: true })
  for (const [path, content] of Object.entries(files)) writeFileSync(join(top, path), content)
}

const lines = (name: string, first: string, last: string): string =>
  `${first}\n${`${name}\n`.repeat(20)}${last}\n`

describe("mergeEdits", () => {
  it.live("merges into several layers of a workspace at once", () =>
    Effect.gen(function* () {
      const { folder, shadow } = yield* shadowPlace
      const names = Array.from({ length: 12 }, (_, at) => `layer${at}`)
      yield* Effect.forEach(
        names,
        (name) =>
          Effect.gen(function* () {
            const sides = {
              base: { f: lines(name, "one", "two") },
              workspace: { f: lines(name, "ONE", "two") },
              layer: { f: lines(name, "one", "TWO") }
            }
            layerAt(join(folder, name), sides.layer)
            const { conflicts } = yield* mergeAt(shadow, join(folder, name), sides)
            assert.deepStrictEqual(conflicts, [])
          }),
        { concurrency: "unbounded", discard: true }
      )
      for (const name of names)
        assert.strictEqual(readFileSync(join(folder, name, "f"), "utf8"), lines(name, "ONE", "TWO"))
    }).pipe(Effect.scoped)
  )

  it.live("takes a large file whole", () =>
    Effect.gen(function* () {
      const { folder, shadow } = yield* shadowPlace
      const top = join(folder, "layer")
      const large = Buffer.alloc(70 * 1_048_576, 1)
      layerAt(top, { f: "small" })
      yield* mergeAt(shadow, top, {
        base: { f: "small" },
        workspace: { f: large },
        layer: { f: "small" }
      })
      assert.isTrue(readFileSync(join(top, "f")).equals(large))
    }).pipe(Effect.scoped)
  )

  it.live.skipIf(!canMount)("leaves the version before if the disk is full", () =>
    Effect.gen(function* () {
      const { folder, shadow } = yield* shadowPlace
      const top = join(folder, "layer")
      mkdirSync(top)
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          const { status } = spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", top])
          assert.strictEqual(status, 0)
        }),
        () => Effect.sync(() => spawnSync("umount", [top]))
      )
      layerAt(top, { f: "small" })
      const failure = yield* Effect.flip(
        mergeAt(shadow, top, {
          base: { f: "small" },
          workspace: { f: Buffer.alloc(2 * 1_048_576, 1) },
          layer: { f: "small" }
        })
      )
      assert.include(failure.message, "ENOSPC")
      assert.strictEqual(readFileSync(join(top, "f"), "utf8"), "small")
      assert.deepStrictEqual(readdirSync(top), ["f"])
    }).pipe(Effect.scoped)
  )
})
