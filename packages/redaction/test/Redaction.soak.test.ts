/**
 * Redaction of generated transcripts: secrets of every rule among words, in pieces of any size. And hostile repetition, which must cost time
 * in proportion to its length.
 */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { Redaction } from "../src/Redaction.ts"
import { gitleaksRules } from "../src/gitleaksRules.ts"
import { ownRules } from "../src/ownRules.ts"

const CASES = 150_000
const seed = Number(process.env["CORRAL_TEST_SEED"] ?? Date.now() % 1_000_000)

const rules = [...ownRules, ...gitleaksRules()]
const keywords = rules.flatMap((rule) => rule.keywords)
const values = ["correct horse battery", "hunter2hunter2"]
const keys = ["AKIAABCDEFGHIJ012345", `ghp_${"a1B2".repeat(9)}`]
const redaction = new Redaction(values)

const alphabet = fc.constantFrom(..."abcXYZ019_-./+=:\"'`@~%\\ \n\t{}()$€馬🐎")
const part = fc.oneof(
  fc.constantFrom(...keywords),
  fc.constantFrom(
    "=",
    ": ",
    ' = "',
    "://",
    " ",
    "\n",
    "Bearer ",
    "…",
    "-----BEGIN RSA PRIVATE KEY-----\n",
    "PASSWORD="
  ),
  fc.string({ unit: alphabet, maxLength: 60 }),
  fc.stringMatching(/^[A-Za-z0-9]{16,60}$/),
  fc.constantFrom(...values, ...keys.map((key) => ` ${key} `))
)
const transcript = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(""))

describe(`Redaction, seed ${seed}`, () => {
  it(`takes known secrets out of ${CASES} transcripts, whole and in pieces`, () => {
    fc.assert(
      fc.property(
        transcript,
        fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 8 }),
        (text, sizes) => {
          const shown = redaction.text(text)
          for (const secret of [...values, ...keys]) assert.notInclude(shown, secret)
          let received = ""
          let context = ""
          let held = ""
          for (let at = 0, turn = 0; at < text.length; turn++) {
            const size = sizes[turn % sizes.length] ?? 1
            const piece = redaction.piece(context, held + text.slice(at, at + size))
            at += size
            received += piece.shown
            context = piece.context
            held = piece.rest
          }
          received += redaction.after(context, held)
          for (const secret of [...values, ...keys]) assert.notInclude(received, secret)
        }
      ),
      { numRuns: CASES, seed }
    )
  })

  it("takes linear time on text with any repetition", () => {
    const size = 100_000
    const fillers = ["", "=", " ", "-", "_", ".", "a", "0", "A1", '":"', " = ", "/", "\n"]
    const slow: Array<string> = []
    for (const keyword of new Set(keywords))
      for (const filler of fillers) {
        const part = keyword + filler
        const text = part.repeat(Math.ceil(size / part.length))
        const started = performance.now()
        redaction.text(text)
        const tookMs = performance.now() - started
        if (tookMs > 1_000) slow.push(`${JSON.stringify(part)}: ${tookMs.toFixed(0)} ms`)
      }
    assert.deepStrictEqual(slow, [])
  })
})
