/** Keys of a question's card: no key but Enter sends. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { cardKeyOf } from "../../src/input/CardKeys.ts"

const facts = fc.record({
  key: fc.oneof(
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 1 }),
    fc.constantFrom("Tab", "ArrowDown", "Escape", "Backspace", "Process", "Dead", "F5", "0", "1", "9", " ")
  ),
  isModified: fc.boolean(),
  isShifted: fc.boolean(),
  isAfterDigit: fc.boolean(),
  place: fc.constantFrom("field" as const, "option" as const, "button" as const, "card" as const)
})

describe("cardKeyOf", () => {
  it("sends nothing with any key but Enter", () => {
    fc.assert(
      fc.property(facts, (pressed) => assert.notStrictEqual(cardKeyOf(pressed).kind, "send")),
      { numRuns: 2_000 }
    )
  })

  it("leaves no character to a button or to the card", () => {
    fc.assert(
      fc.property(facts, (pressed) => {
        const { isModified, key, place } = pressed
        if (isModified || [...key].length !== 1 || (place !== "button" && place !== "card")) return
        assert.include(["choose", "write", "nothing"], cardKeyOf(pressed).kind)
      }),
      { numRuns: 2_000 }
    )
  })

  const press = (key: string, place: "field" | "option" | "button" | "card", isAfterDigit = false) =>
    cardKeyOf({ key, place, isAfterDigit, isModified: false, isShifted: false }).kind

  it("chooses with a space on an option, and writes it after a digit", () => {
    assert.strictEqual(press(" ", "option"), "native")
    assert.strictEqual(press(" ", "option", true), "write")
    assert.strictEqual(press(" ", "button"), "write")
  })

  it("leaves the keys of a text field to it, but Enter", () => {
    for (const key of ["1", "a", " ", "Escape", "ArrowUp"]) assert.strictEqual(press(key, "field"), "native")
    assert.strictEqual(press("Enter", "field"), "send")
  })
})
