/** The review of each run in the storage of a browser. */
import { assert, describe, it } from "@effect/vitest"
import type { LineComment } from "../../src/review/LineComment.ts"
import {
  MAX_COMMENT_CHARACTERS,
  MAX_COMMENTS,
  ReviewStore,
  type ReviewStorage
} from "../../src/review/ReviewStore.ts"

class MemoryStorage implements ReviewStorage {
  readonly values = new Map<string, string>()
  isFull = false

  getItem(key: string): string | null {
    return this.values.get(key) ?? null
  }

  setItem(key: string, value: string): void {
    if (this.isFull) throw new DOMException("full", "QuotaExceededError")
    this.values.set(key, value)
  }

  removeItem(key: string): void {
    this.values.delete(key)
  }
}

const line = { side: "new", line: 3 } as const
const comment = (id: string, text = "why?"): LineComment => ({
  id,
  path: "a.ts",
  from: line,
  to: line,
  quote: ["+x"],
  text
})

describe("ReviewStore", () => {
  it("survives a reload of the page", () => {
    const storage = new MemoryStorage()
    const store = new ReviewStore(storage)
    store.setViewed("run_1", "__proto__", "hash")
    store.putComment("run_1", comment("a"))
    const again = new ReviewStore(storage).get("run_1")
    assert.deepStrictEqual([...again.viewed], [["__proto__", "hash"]])
    assert.deepStrictEqual(again.comments, [comment("a")])
    assert.deepStrictEqual(new ReviewStore(storage).get("run_2").comments, [])
  })

  it("returns the same review until it changes, and notifies", () => {
    const store = new ReviewStore(new MemoryStorage())
    let changes = 0
    const stop = store.subscribe(() => changes++)
    const before = store.get("run_1")
    assert.strictEqual(store.get("run_1"), before)
    store.putComment("run_1", comment("a"))
    assert.notStrictEqual(store.get("run_1"), before)
    stop()
    store.putComment("run_1", comment("b"))
    assert.strictEqual(changes, 1)
  })

  it("replaces and removes comments, and moves them to another run", () => {
    const store = new ReviewStore(new MemoryStorage())
    for (const id of ["a", "b", "c"]) store.putComment("run_1", comment(id))
    store.putComment("run_1", comment("b", "because"))
    store.removeComments("run_1", new Set(["a"]))
    assert.deepStrictEqual(store.get("run_1").comments, [comment("b", "because"), comment("c")])
    store.moveComments("run_1", "run_2")
    store.moveComments("run_2", "run_2")
    assert.deepStrictEqual(store.get("run_1").comments, [])
    assert.deepStrictEqual(store.get("run_2").comments, [comment("b", "because"), comment("c")])
  })

  it("is bounded in runs, files, comments and characters", () => {
    const storage = new MemoryStorage()
    const store = new ReviewStore(storage)
    for (let nth = 0; nth < 40; nth++) store.setViewed(`run_${nth}`, "a", "hash")
    assert.strictEqual(storage.values.size, 31)
    assert.isFalse(storage.values.has("corral.review.run_0"))
    assert.isTrue(storage.values.has("corral.review.run_39"))
    for (let nth = 0; nth < MAX_COMMENTS + 5; nth++) store.putComment("run_39", comment(`c${nth}`))
    assert.strictEqual(store.get("run_39").comments.length, MAX_COMMENTS)
    store.putComment("run_39", comment("c0", "x".repeat(MAX_COMMENT_CHARACTERS + 5)))
    assert.strictEqual(store.get("run_39").comments[0]?.text.length, MAX_COMMENT_CHARACTERS)
    for (let nth = 0; nth < 2_010; nth++) store.setViewed("run_39", `f${nth}`, "hash")
    assert.strictEqual(store.get("run_39").viewed.size, 2_000)
    assert.isTrue(store.get("run_39").viewed.has("f2009"))
  })

  it("leaves nothing of an empty review", () => {
    const storage = new MemoryStorage()
    const store = new ReviewStore(storage)
    store.setViewed("run_1", "a", "hash")
    store.setViewed("run_1", "a", undefined)
    assert.deepStrictEqual([...storage.values], [["corral.review", "[]"]])
  })

  it("works without storage and ignores what it did not write", () => {
    const storage = new MemoryStorage()
    storage.values.set("corral.review", "{")
    storage.values.set("corral.review.run_1", '{"viewed":[["a"],["b","h"],7],"comments":[{"id":1},null]}')
    storage.values.set("corral.review.run_2", "[]")
    const store = new ReviewStore(storage)
    assert.deepStrictEqual([...store.get("run_1").viewed], [["b", "h"]])
    assert.deepStrictEqual(store.get("run_1").comments, [])
    assert.deepStrictEqual(store.get("run_2").comments, [])
    storage.isFull = true
    store.putComment("run_1", comment("a"))
    assert.deepStrictEqual(store.get("run_1").comments, [comment("a")])
  })
})
