/** Keys of a text that a field has begun. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { isTextAfter, type KeyPlace } from "../../src/keys/TextKey.ts"

type Key = readonly [key: string, place: KeyPlace]

const isTextAfterKeys = (keys: ReadonlyArray<Key>): boolean =>
  keys.reduce((isText, [key, place]) => isTextAfter(isText, { key, place, isModified: false }), false)

const inField = (text: string): ReadonlyArray<Key> => [...text].map((key) => [key, "field"])
const atPage = (text: string): ReadonlyArray<Key> => [...text].map((key) => [key, "elsewhere"])

describe("isTextAfter", () => {
  it("is true from a character in a field on, wherever the rest of the text arrives", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string(), (first, rest) =>
        assert.isTrue(isTextAfterKeys([...inField(first), ...atPage(rest)]))
      )
    )
  })

  it("stays true after a text that was sent with Enter", () => {
    assert.isTrue(isTextAfterKeys([...inField("Why?"), ["Enter", "field"], ...atPage("y")]))
    assert.isTrue(isTextAfterKeys([...inField("Why?"), ["Enter", "elsewhere"], ...atPage("y")]))
  })

  it("is false after Escape, Tab, and a choice in a dialog", () => {
    for (const key of ["Escape", "Tab"])
      for (const place of ["field", "elsewhere"] as const) {
        assert.isFalse(isTextAfterKeys([...inField("Why?"), [key, place]]))
        assert.isFalse(isTextAfterKeys([...inField("Why?"), [key, place], ...atPage("a")]))
      }
    assert.isFalse(isTextAfterKeys([["s", "dialog"], ["Enter", "dialog"], ...atPage("a")]))
  })

  it("is false after keys that write nothing", () => {
    assert.isFalse(isTextAfterKeys([["ArrowDown", "field"], ["F5", "field"], ...atPage("ad")]))
    assert.isFalse(isTextAfter(false, { key: "k", place: "field", isModified: true }))
  })
})
