/** Every regular expression that is shipped is proven linear, or looks at no more than a capped text. */
import { assert, describe, it } from "@effect/vitest"
import { patterns, proven, unproven } from "./Patterns.ts"

/** Assembled when they run, of parts that are ours. By file, why they end soon. */
const reviewed: Readonly<Record<string, string>> = {
  "packages/domain/src/identity/Ids.ts": "a prefix and a fixed number of characters, anchored",
  "packages/domain/src/run/Budget.ts": "names of our own fields, anchored",
  "packages/redaction/src/SecretFinder.ts":
    "rules that are looked for around their keywords; `redaction/test/Redaction.test.ts`",
  "packages/service/src/http/Unanswered.ts": "names between slashes of our own paths, anchored",
  "packages/console/src/markdown/visible.ts": "each match ends before the next escape character"
}
const found = patterns()
const provenPatterns = new Set(proven())

describe("The regular expressions of the sources", () => {
  it("are found", () => {
    assert.isAbove(found.length, 300)
    assert.isTrue(found.some(({ isCapped }) => isCapped))
    assert.isTrue(found.some(({ isAssembled }) => isAssembled))
  })

  it("are proven linear or capped", () => {
    const open = found.filter(
      ({ file, isAssembled, isCapped, text }) =>
        !isAssembled && !isCapped && !provenPatterns.has(text) && !unproven.includes(file)
    )
    assert.deepStrictEqual(
      open.map(({ file, text }) => `${file}: ${text}`),
      [],
      "run `npm run patterns`"
    )
  })

  it("that are assembled are capped or reviewed", () => {
    const open = found.filter(
      ({ file, isAssembled, isCapped }) => isAssembled && !isCapped && !(file in reviewed)
    )
    assert.deepStrictEqual(
      open.map(({ file, text }) => `${file}: ${text}`),
      []
    )
  })

  it("that were proven are still there", () => {
    const there = new Set(found.map(({ text }) => text))
    assert.deepStrictEqual(
      [...provenPatterns].filter((text) => !there.has(text)),
      [],
      "run `npm run patterns`"
    )
  })
})
