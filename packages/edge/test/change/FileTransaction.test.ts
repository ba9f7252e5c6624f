/** Changes of many files: other work of the process has its turn meanwhile, and a changed file is away only while it is replaced. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { DecisionCommit } from "../../src/change/DecisionCommit.ts"
import { Store } from "../../src/store/Store.ts"
import { readTree, shownTree } from "./ChangePlace.ts"
import { changesOf, decide, folderWith, steppedOperations } from "./Decisions.ts"
import type { Tree } from "./RandomTrees.ts"
import { shadowPlace } from "./Subsets.ts"

const FILES = 1_000
/** Calls of the system for one file, and files of a turn, with room. */
const MAX_CALLS = 300

const treeOf = (text: string): Tree =>
  new Map(
    Array.from({ length: FILES }, (_, at) => [
      `folder/${at}`,
      { mode: "100644" as const, content: Buffer.from(`${text} ${at}\n`) }
    ])
  )

describe("A change of many files", () => {
  it.live("lets other work in between, and has at most one file away", () =>
    Effect.gen(function* () {
      const { folder: parent, shadow } = yield* shadowPlace
      const [base, result] = [treeOf("before"), treeOf("after")]
      const folder = folderWith(parent, "workspace", base)
      const changes = yield* changesOf(shadow, base, result)
      const store = Context.get(yield* Layer.build(Layer.fresh(Store.layerMemory)), Store)
      let turn = 0
      let next = setImmediate(function count() {
        turn++
        next = setImmediate(count)
      })
      const calls = new Map<number, number>()
      let most = 0
      const operations = steppedOperations((name) => {
        calls.set(turn, (calls.get(turn) ?? 0) + 1)
        if (name !== "rename") return
        let away = 0
        for (let at = 0; at < FILES; at += 50) if (!existsSync(join(folder, `folder/${at}`))) away++
        most = Math.max(most, away)
      })
      const { end } = yield* decide(new DecisionCommit(store, operations), shadow, folder, changes)
      clearImmediate(next)
      assert.strictEqual(end, "done")
      assert.deepStrictEqual(shownTree(readTree(folder)), shownTree(result))
      assert.isAtMost(Math.max(...calls.values()), MAX_CALLS)
      assert.isAtMost(most, 1)
    }).pipe(Effect.scoped)
  )
})
