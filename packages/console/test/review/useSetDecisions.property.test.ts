/** Keys of decisions about changes: no sentence decides, wherever the focus is. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { type DecideMode, decideKeyOf } from "../../src/review/useSetDecisions.ts"
import { REVIEW_LETTERS } from "../../src/review/useReviewList.ts"

const LETTERS = "ad"

/** Changes with buttons that decide. Returns the number of buttons that the keys press. */
const decisionsOf = (keys: ReadonlyArray<string>, start: "button" | "list"): number => {
  let focus = start
  let mode: DecideMode = "ready"
  let decisions = 0
  for (const key of keys) {
    const next = decideKeyOf(mode, {
      key,
      isModified: false,
      isRepeated: false,
      isCommand: REVIEW_LETTERS.has(key),
      hasButton: LETTERS.includes(key)
    })
    mode = next.mode
    if (next.leaves) focus = "list"
    if (next.action === "arm") focus = "button"
    else if (next.action === "pass" && focus === "button" && (key === " " || key === "Enter")) decisions++
  }
  return decisions
}

const word = fc.string({
  unit: fc.oneof(fc.constantFrom(...LETTERS), fc.constantFrom(...REVIEW_LETTERS, ..."bfwx0189?!,.é中")),
  minLength: 1,
  maxLength: 6
})
const sentence = fc.array(word, { minLength: 2, maxLength: 8 }).map((words) => words.join(" "))
const start = fc.constantFrom("button" as const, "list" as const)

describe("decideKeyOf", () => {
  it("decides nothing with a sentence and Enter", () => {
    fc.assert(
      fc.property(sentence, start, (text, focus) =>
        assert.strictEqual(decisionsOf([...text, "Enter"], focus), 0)
      ),
      { numRuns: 10_000 }
    )
  })

  it("never presses a button with Space after a letter", () => {
    const keys = fc.array(
      fc.constantFrom(...LETTERS, ...REVIEW_LETTERS, " ", "Backspace", "Shift", "x", "7", "Process")
    )
    fc.assert(
      fc.property(keys, start, (pressed, focus) =>
        assert.strictEqual(decisionsOf(["x", ...pressed], focus), 0)
      ),
      { numRuns: 5_000 }
    )
  })

  it("decides with a letter and Enter, also after moves", () => {
    assert.strictEqual(decisionsOf(["a", "Enter"], "list"), 1)
    assert.strictEqual(decisionsOf(["n", "j", "j", "d", "Enter"], "list"), 1)
    assert.strictEqual(decisionsOf(["a", "Enter", "a", "Enter"], "list"), 2)
  })

  it("decides nothing with a letter, any other key and Enter", () => {
    for (const key of ["d", "a", " ", "j", "x", "1", "ArrowDown", "Escape", "Backspace", "Dead", "F5"])
      assert.strictEqual(decisionsOf(["a", key, "Enter"], "list"), 0, key)
  })

  it("leaves the button that the person went to with Tab to Space and Enter", () => {
    assert.strictEqual(decisionsOf([" "], "button"), 1)
    assert.strictEqual(decisionsOf(["Enter"], "button"), 1)
  })
})
