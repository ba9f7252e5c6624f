/** Keys of a decision: no text decides, on any button and with any letters. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { decisionKeyOf, type KeyMode } from "../../src/approval/DecisionKeys.ts"

const LETTERS = "aydne"

/** A page with a card. Returns the number of buttons that the keys press. */
const decisionsOf = (keys: ReadonlyArray<string>, start: "button" | "card", hasField: boolean): number => {
  let focus: "button" | "card" | "field" = start
  let mode: KeyMode = "ready"
  let decisions = 0
  for (const key of keys) {
    if (focus === "field") continue
    const next = decisionKeyOf(mode, {
      key,
      isModified: false,
      isRepeated: false,
      hasButton: LETTERS.includes(key)
    })
    mode = next.mode
    if (next.action === "arm") focus = "button"
    else if (next.action === "leave") focus = "card"
    else if (next.action === "write") focus = hasField ? "field" : "card"
    else if (next.action === "native" && focus === "button" && (key === " " || key === "Enter")) decisions++
  }
  return decisions
}

const word = fc.string({
  unit: fc.oneof(fc.constantFrom(...LETTERS), fc.constantFrom(..."bcfwxj0123456789?!,.é中")),
  minLength: 1,
  maxLength: 6
})
const sentence = fc.array(word, { minLength: 2, maxLength: 8 }).map((words) => words.join(" "))
const start = fc.constantFrom("button" as const, "card" as const)

describe("decisionKeyOf", () => {
  it("decides nothing with a sentence and Enter", () => {
    fc.assert(
      fc.property(sentence, start, fc.boolean(), (text, focus, hasField) =>
        assert.strictEqual(decisionsOf([...text, "Enter"], focus, hasField), 0)
      ),
      { numRuns: 5_000 }
    )
  })

  it("never presses a button with Space after a letter", () => {
    const keys = fc.array(fc.constantFrom(...LETTERS, " ", "Backspace", "Shift", "x", "7", "Process"))
    fc.assert(
      fc.property(keys, fc.boolean(), (pressed, hasField) =>
        assert.strictEqual(decisionsOf(["a", ...pressed], "card", hasField), 0)
      ),
      { numRuns: 2_000 }
    )
  })

  it("decides with a letter and Enter, and after Escape with another letter", () => {
    assert.strictEqual(decisionsOf(["a", "Enter"], "card", true), 1)
    assert.strictEqual(decisionsOf(["a", "Shift", "Enter"], "card", true), 1)
    assert.strictEqual(decisionsOf(["a", "Escape", "Enter"], "card", true), 0)
    assert.strictEqual(decisionsOf(["a", "Escape", "d", "Enter"], "card", false), 1)
  })

  it("decides nothing with a letter, any other key and Enter", () => {
    for (const key of ["d", "a", " ", "x", "1", "ArrowDown", "Backspace", "Dead", "F5", "Home"])
      assert.strictEqual(decisionsOf(["a", key, "Enter"], "card", false), 0, key)
  })

  it("leaves the button that the person went to with Tab to Space and Enter", () => {
    assert.strictEqual(decisionsOf([" "], "button", true), 1)
    assert.strictEqual(decisionsOf(["Enter"], "button", true), 1)
  })
})
