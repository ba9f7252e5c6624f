import { assert, describe, it } from "@effect/vitest"
import type { Envelope } from "@corral/domain/run/RunEvent"
import { runTail } from "../../src/board/RunTail.tsx"

// The rest of an envelope is not read.
const event = (type: string, payload: object) => ({ type, payload }) as unknown as Envelope
const delta = (messageId: string, text: string, channel = "text") =>
  event("run.message.delta", { messageId, text, channel })
const lineOf = (...events: ReadonlyArray<Envelope>) => runTail(events).line

describe("runTail", () => {
  it("says what the run did last: a tool, or the last line of its text", () => {
    const completedMessage = event("run.message.completed", {
      role: "assistant",
      channel: "text",
      text: "One.\n\nTwo.\n"
    })
    const tool = event("run.tool.call", { label: "Run npm test" })
    assert.strictEqual(lineOf(tool, completedMessage), "Two.")
    assert.strictEqual(
      lineOf(completedMessage, tool, event("run.tool.result", { output: "x" })),
      "Run npm test"
    )
    assert.isUndefined(lineOf(event("run.started", {})))
  })

  it("says a line of Markdown without its marks, and skips lines without words", () => {
    const shownLine = (text: string) => lineOf(delta("a", text))
    assert.strictEqual(
      shownLine("- The hours are in `hours.js`. **Two things** are [open](x).\n\n---\n"),
      "The hours are in hours.js. Two things are open."
    )
    assert.strictEqual(shownLine("Run this:\n```sh\nnpm test\n```\n"), "npm test")
  })

  it("says which call has no result yet, by kind and target", () => {
    const call = event("run.tool.call", { callId: "1", tool: "execute", label: "Run npm test" })
    const text = delta("a", "I wait for the tests.")
    assert.deepStrictEqual(runTail([call, text]).currentCall, { kind: "command", target: "npm test" })
    const other = event("run.tool.call", { callId: "2", tool: "browser", label: "Open the page" })
    assert.deepStrictEqual(runTail([call, other]).currentCall, { kind: "other", target: "Open the page" })
    assert.isUndefined(runTail([call, event("run.tool.result", { callId: "1" }), text]).currentCall)
  })

  it("joins a text that still streams, and skips reasoning and prompts", () => {
    const prompt = event("run.message.completed", { role: "user", channel: "text", text: "the prompt" })
    assert.strictEqual(lineOf(delta("a", "old"), delta("b", "I will\nche"), delta("b", "ck")), "check")
    assert.strictEqual(lineOf(delta("b", "visible"), delta("c", "thinking", "reasoning"), prompt), "visible")
  })

  it("has the counts of the last diff", () => {
    const diff = (additions: number) => event("run.diff.ready", { additions, deletions: 1 })
    assert.deepStrictEqual(runTail([diff(3), diff(5), event("run.completed", {})]).changes, {
      additions: 5,
      deletions: 1
    })
    assert.isUndefined(runTail([]).changes)
  })
})
