import { assert, describe, it } from "@effect/vitest"
import { keysMessages } from "../../src/keys/messages.ts"
import { pressesOf } from "../harness/keyPresses.ts"

const combinations = ({ groups }: typeof keysMessages.en) =>
  groups.map(([, keys]) => keys.map(([, ...each]) => each))

describe("the list of keys", () => {
  it("has the same keys in both languages, each once in its group", () => {
    assert.deepStrictEqual(combinations(keysMessages.zh), combinations(keysMessages.en))
    for (const group of combinations(keysMessages.en))
      assert.strictEqual(new Set(group.flat()).size, group.flat().length)
  })
})

describe("pressesOf", () => {
  it("reads a combination as a person does", () => {
    assert.deepStrictEqual(["Ctrl Shift Enter", "⌘ K", "Alt ↑", "Esc Esc", "?"].map(pressesOf), [
      ["Control+Shift+Enter"],
      ["Meta+k"],
      ["Alt+ArrowUp"],
      ["Escape", "Escape"],
      ["?"]
    ])
  })
})
