import { assert, describe, it } from "@effect/vitest"
import { type PressedKey, shortcutOf } from "../../src/keys/Shortcut.ts"

const press = (text: string): PressedKey => {
  const parts = text.split("+")
  return {
    key: parts.at(-1) ?? "",
    ctrlKey: parts.includes("Ctrl"),
    metaKey: parts.includes("Meta"),
    altKey: parts.includes("Alt"),
    shiftKey: parts.includes("Shift")
  }
}
const anywhere = { isWriting: false, singleKeys: true }
const found = (text: string, context = anywhere) => shortcutOf(press(text), context)

describe("shortcutOf", () => {
  it("knows the palette, a new session and the keys", () => {
    assert.deepStrictEqual(
      ["Ctrl+k", "Meta+k", "Ctrl+Shift+O", "Meta+Shift+o", "c", "Shift+?"].map((text) => found(text)),
      ["palette", "palette", "newSession", "newSession", "newSession", "keys"]
    )
  })

  it("leaves other combinations to the page and the browser", () => {
    for (const text of ["Ctrl+Shift+K", "Ctrl+c", "Meta+c", "Alt+c", "Ctrl+Meta+k", "Shift+C", "k", "x"])
      assert.isUndefined(found(text), text)
  })

  it("ignores single letters in fields and where they are switched off", () => {
    for (const context of [
      { isWriting: true, singleKeys: true },
      { isWriting: false, singleKeys: false }
    ]) {
      assert.isUndefined(found("c", context))
      assert.isUndefined(found("Shift+?", context))
      assert.strictEqual(found("Ctrl+k", context), "palette")
    }
  })
})
