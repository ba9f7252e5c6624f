/** Segments as users see them: characters that are not seen are named. */
import { assert, describe, it } from "@effect/vitest"
import { policyOf, shell } from "./RunPolicies.ts"

const shown = (line: string) => policyOf().assess(shell(line)).shown.segments ?? []

describe("The segments of a command", () => {
  it.each([
    ["npm\u3164test", "npm<U+3164>test"],
    ["ls \u202eab", "ls <U+202E>ab"],
    ["ls \u{e0041}", "ls <U+E0041>"],
    ["ls a\u034fb\u2800c", "ls a<U+034F>b<U+2800>c"],
    ["ls\u00a0a\u0085b", "ls<U+00A0>a<U+0085>b"],
    ["ls \ufe0fa\u0007", "ls <U+FE0F>a␇"]
  ])("name what is not seen in %j", (line, text) => {
    const [segment, ...more] = shown(line)
    assert.deepStrictEqual(more, [])
    assert.strictEqual(segment?.text, text)
    assert.strictEqual(segment?.opaque, "it contains characters that are not shown")
  })

  it("keep an emoji, tabs and lines as they are", () => {
    for (const line of ["git commit -m '\u26a0\ufe0f a'", "ls\ta", "echo 'a\nb' 说明"])
      assert.deepStrictEqual(
        shown(line).map(({ opaque, text }) => [text, opaque]),
        [[line, undefined]]
      )
  })
})
