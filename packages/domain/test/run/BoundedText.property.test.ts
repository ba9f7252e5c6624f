import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import { encodeUlid, eventIdOf, type RunId } from "../../src/identity/Ids.ts"
import { boundText, boundTextEnd, excerptOfEnd, isClipped, MAX_KEPT_TEXT } from "../../src/run/RunBlock.ts"
import { decodeEvent } from "../../src/run/RunEvent.ts"
import { RunView } from "../../src/run/RunView.ts"
import { joinEnds, splitEnds } from "../../src/text/Cut.ts"

const runId = `run_${encodeUlid(1, new Uint8Array(10))}` as RunId // made as ids are made
const envelope = { id: eventIdOf(runId, 1), seq: 1, runId, createdAt: "2026-01-01T00:00:00.000Z" }

const texts = fc.string({ unit: "binary", maxLength: 600 })

describe("the end of a bounded text", () => {
  it("is the end of the text, and counts what is missing before it", () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 1, max: 500 }), (text, most) => {
        const whole = boundText(text, 3)
        const end = boundTextEnd(whole, most)
        assert.isAtMost(end.text.length, most)
        assert.isAtLeast(end.text.length, Math.min(text.length, most - 1))
        assert.isTrue(text.endsWith(end.text))
        assert.strictEqual(end.skipped, text.length - end.text.length)
        assert.deepStrictEqual([end.size, end.from, end.to], [text.length, 3, 3])
        assert.strictEqual(isClipped(end), end.skipped > 0)
        assert.strictEqual(excerptOfEnd(end).skipped, text.length - excerptOfEnd(end).text.length)
      })
    )
  })
})

describe("the output of a call in a view", () => {
  const outputOf = (output: string, totalBytes?: number) => {
    const view = new RunView()
    const payload = { callId: "c", tool: "Bash", status: "completed" as const, output }
    const cut = totalBytes === undefined ? {} : { truncated: true as const, totalBytes }
    const event = { ...envelope, type: "run.tool.result", payload: { v: 1, ...payload, ...cut } }
    view.apply({ decoded: Result.getOrThrow(decodeEvent(event)), missing: undefined })
    const [block] = view.blocks
    return block?.kind === "tool" ? block.output : undefined
  }
  const long = Array.from({ length: 20_000 }, (_, line) => `line ${line}`).join("\n")

  it("has the end of a long output", () => {
    const output = outputOf(long)
    assert.isTrue(output?.text.endsWith("line 19999"))
    assert.isAbove(output?.skipped ?? 0, 0)
  })

  it("has both ends of an output that is cut in its event, and says how much is between them", () => {
    const line = fc.string({ unit: "grapheme", maxLength: 80 }).filter((text) => !text.includes("\n"))
    fc.assert(
      fc.property(fc.array(line, { minLength: 2, maxLength: 9 }), fc.nat(9), (lines, times) => {
        const part = `${lines.join("\n")}\n`
        // The least that an event has of an end.
        const whole = `first\n${part.repeat(Math.ceil(22_528 / part.length) + times)}last`
        const bytes = (text: string): number => new TextEncoder().encode(text).length
        const total = bytes(whole) + 1_000_000
        const output = outputOf(joinEnds(`${whole}\n`, `\n${whole}`, total), total)
        assert.strictEqual(output?.size, total)
        const text = output?.text ?? ""
        assert.isAtMost(text.length, MAX_KEPT_TEXT)
        assert.isTrue(text.startsWith("first\n"))
        assert.isTrue(text.endsWith("\nlast"))
        assert.lengthOf([...text.matchAll(/\n⋯ \d+ bytes ⋯\n/gu)], 1)
        const ends = splitEnds(text)
        assert(ends !== undefined)
        assert.strictEqual(ends.missing, total - bytes(ends.start) - bytes(ends.end))
        assert.isUndefined(splitEnds(ends.start + ends.end))
      }),
      { numRuns: 50 }
    )
  })
})
