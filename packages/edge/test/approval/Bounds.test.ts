/** A runtime may send any command line, as long and as crooked as it likes: the Edge reads it in a bounded number of steps. */
import { assert, describe, it } from "@effect/vitest"
import { segmentsOf } from "../../src/approval/ShellCommand.ts"
import { Seeded } from "../harness/Seeded.ts"
import { constructs, hostileLine } from "./ShellGrammar.ts"
import { policyOf, shell, verdictOn } from "./RunPolicies.ts"

const MAX_SEGMENTS = 64

const isOpaque = (line: string): boolean => segmentsOf(line).some(({ opaque }) => opaque !== undefined)

describe("A command line", () => {
  it.each([
    ["braces", `echo ${"{a,".repeat(1_300)}`],
    ["more braces", `echo ${"{a,".repeat(2_600)}`],
    ["ranges", `echo ${"{..".repeat(2_600)}`],
    ["tests", "[[ ".repeat(2_600)],
    ["brackets", `echo ${"[".repeat(8_000)}`],
    ["nested substitutions", `echo ${"$(".repeat(120)}`],
    ["substitutions beyond the limit", `echo ${"$(a) ".repeat(200)}`],
    ["files", `${"> a ".repeat(600)}echo`],
    ["words", `ls ${"a ".repeat(800)}`]
  ])("of many %s is read, or is opaque and of high risk", (_, line) => {
    const segments = segmentsOf(line)
    assert.isAtMost(segments.length, MAX_SEGMENTS)
    const policy = policyOf()
    const { needs, request } = policy.assess(shell(line))
    if (isOpaque(line)) assert.deepStrictEqual([request.risk, needs], ["high", undefined])
    assert.strictEqual(verdictOn(policy, shell(line))._tag, "Ask")
  })

  it.each(constructs)("of %j, repeated and nested, ends in bounded parts", (open, close) => {
    for (const size of [64, 1_024, 8_192]) {
      const times = Math.floor(size / (open.length + close.length))
      for (const line of [
        open.repeat(times),
        `${open}a${close} `.repeat(times),
        open.repeat(times) + close.repeat(times)
      ])
        assert.isAtMost(segmentsOf(line.slice(0, size)).length, MAX_SEGMENTS)
    }
  })

  it("that is beyond a limit is denied in read_only and plan, and asked for in ask and auto_edit", () => {
    const random = new Seeded("hostile lines")
    const lines = Array.from({ length: 60 }, () => hostileLine(random)).filter(isOpaque)
    for (const line of lines) {
      for (const mode of ["read_only", "plan"] as const)
        assert.strictEqual(verdictOn(policyOf({ mode }), shell(line))._tag, "Deny", line)
      for (const mode of ["ask", "auto_edit"] as const)
        assert.strictEqual(verdictOn(policyOf({ mode }), shell(line))._tag, "Ask", line)
    }
  })
})
