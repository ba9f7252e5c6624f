/** Changes of many files: other work of the process has its turn meanwhile, and a changed file is away only while it is replaced. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DecisionCommit } from "../../src/change/DecisionCommit.ts"
import { Store } from "../../src/store/Store.ts"
import { readTree, shownTree } from "./ChangePlace.ts"
import { changesOf, decide, folderWith, plainPath, steppedOperations } from "./Decisions.ts"
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

describe("A person's versions of a file", () => {
  /** Carries out a change of two files while a person writes `a.txt`: before the calls of the system at which `edits` says so. */
  const versionsAfter = Effect.fnUntraced(function* (
    [before, after]: readonly [string, string],
    more: ReadonlyArray<readonly [string, string]>,
    edits: ReadonlyArray<{ readonly at: (name: string, path: string) => boolean; readonly text: string }>
  ) {
    const { folder: parent, shadow } = yield* shadowPlace
    const treeWith = (text: string): Tree =>
      new Map(
        [["a.txt", text] as const, ["b.txt", text] as const, ...more].map(([name, content]) => [
          name,
          { mode: "100644" as const, content: Buffer.from(`${content}\n`) }
        ])
      )
    const folder = folderWith(parent, "workspace", treeWith(before))
    const changes = yield* changesOf(shadow, treeWith(before), treeWith(after))
    const store = Context.get(yield* Layer.build(Layer.fresh(Store.layerMemory)), Store)
    const left = [...edits]
    const operations = steppedOperations((name, [from]) => {
      const [edit] = left
      if (edit?.at(name, plainPath(from as Buffer).toString()) !== true) return
      left.shift()
      writeFileSync(join(folder, "a.txt"), `${edit.text}\n`)
    })
    const { end } = yield* decide(new DecisionCommit(store, operations), shadow, folder, changes)
    assert.isEmpty(left, "every edit was made")
    const files = [...readTree(folder)].map(([name, { content }]) => [name, content.toString().trim()])
    return { end, files: Object.fromEntries(files) as Record<string, string> }
  }, Effect.scoped)

  const setAside = (file: string) => (name: string, path: string) =>
    name === "rename" && path.endsWith(`/${file}`)
  const named = (version: string) => (name: string, path: string) => name === "link" && path.endsWith(version)

  it.live.each([{ earlier: [] }, { earlier: [["a.txt.before", "earlier"] as const] }])(
    "all stay, with $earlier.length earlier ones",
    ({ earlier }) =>
      Effect.gen(function* () {
        const { end, files } = yield* versionsAfter(["before", "after"], earlier, [
          { at: setAside("a.txt"), text: "mine 1" },
          { at: setAside("b.txt"), text: "mine 2" },
          { at: named(".taken"), text: "mine 3" }
        ])
        assert.strictEqual(end, "conflict")
        assert.strictEqual(files["a.txt"], "mine 3")
        assert.strictEqual(files["b.txt"], "before")
        const saved = ["mine 1", "mine 2", ...earlier.map(([, text]) => text)]
        assert.sameMembers(
          Object.entries(files).flatMap(([name, text]) => (name.includes(".before") ? [text] : [])),
          saved
        )
      })
  )

  const text = (...lines: ReadonlyArray<string>) => lines.join("\n")
  const lines = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, at) => `line ${from + at}`)
  const before = text(...lines(0, 20))
  const after = text(...lines(0, 10), "agent line", ...lines(11, 20))

  it.live("stay both if one is written while the file is away", () =>
    Effect.gen(function* () {
      const mine = text("mine", ...lines(0, 15))
      const { files } = yield* versionsAfter([before, after], [], [{ at: named("/0.new"), text: mine }])
      assert.match(files["a.txt"] ?? "", /^mine\nline 0\n[^]*\nline 14$/)
      assert.strictEqual(files["a.txt.before"], before)
    })
  )

  it.live("lose no edit to an editor that saves an earlier version while the file is away", () =>
    Effect.gen(function* () {
      const { files } = yield* versionsAfter(
        [before, after],
        [],
        [
          { at: setAside("a.txt"), text: text("mine 1", before) },
          { at: setAside("b.txt"), text: text(after, "mine 2") },
          { at: named("/0.new"), text: text(after, "mine 2", "mine 3") }
        ]
      )
      const all = Object.values(files).join("\n")
      for (const mark of ["mine 1", "mine 2", "mine 3"]) assert.include(all, mark)
    })
  )
})
