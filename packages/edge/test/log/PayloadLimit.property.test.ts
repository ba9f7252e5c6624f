import { eventSchema, MAX_PAYLOAD_BYTES, draft, type EventDraft } from "@corral/domain/run/RunEvent"
import { isTerminalType } from "@corral/domain/run/RunEnd"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { makeEventEncoder } from "../../src/log/StoredEvents.ts"
import { cutText, fitPayload, mayExceed } from "../../src/log/PayloadLimit.ts"
import { approvalIdOf, at, request, runIdOf } from "../Samples.ts"
import { tries } from "@corral/testing/time/Effort"

const runs = tries(4)

/** Units that are hard on a cutter: one to four bytes of UTF-8, escapes, whole pairs, halves of pairs. */
const units = ["a", '"', "\\", "\n", "\0", "é", "字", "🐎", "👩‍👩‍👧", "\ud83d", "\udc0e", "\u2028"]

/** Long texts of any Unicode, told by how they are made: a failure is then short enough to read. */
const Recipe = Schema.Struct({
  pattern: Schema.Array(Schema.Literals(units)).check(Schema.isMinLength(1), Schema.isMaxLength(12)),
  length: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 300_000 })),
  last: Schema.Literals(units)
})
const huge = ({ pattern, length, last }: typeof Recipe.Type): string => {
  const part = pattern.join("")
  return part.repeat(Math.ceil(length / part.length)) + last
}

const runId = runIdOf(1)
const encode = makeEventEncoder({ runId })
const payloadBytes = (event: EventDraft): number => {
  const line = encode(1, at, event)
  return Buffer.byteLength(line.slice(line.indexOf('"payload":') + '"payload":'.length, -1))
}

/** What the recorder does with an event. */
const written = (event: EventDraft): ReadonlyArray<EventDraft> =>
  mayExceed(encode(1, at, event)) ? fitPayload(event) : [event]

const wellFormed = (text: string) => text.isWellFormed()
const approvalId = approvalIdOf(1)

/** Every type whose text may be long, with the text in each of its fields in turn. */
const longEvents = (text: string): ReadonlyArray<EventDraft> => [
  draft("run.created", { workspace: "api", mode: "ask", input: { text } } as never), // the workspace's brand
  draft("run.started", { runtimeSessionId: text }),
  draft("run.started", { model: text, mode: text }),
  draft("run.completed", { text, usage: { inputTokens: 1 } }),
  draft("run.failed", { error: { code: "internal", message: text }, usage: { inputTokens: 1 } }),
  draft("run.failed", { error: { code: "internal", message: "x", details: { text } } }),
  draft("run.cancelled", { reason: text }),
  draft("run.cancelled", { by: text }),
  draft("run.message.delta", { messageId: "m", channel: "text", text }),
  draft("run.message.delta", { messageId: text, channel: "text", text: "x" }),
  draft("run.message.delta", { messageId: "m", channel: "text", text: "x", parentCallId: text }),
  draft("run.message.completed", { messageId: "m", role: "assistant", channel: "text", text }),
  draft("run.message.completed", { messageId: text, role: "user", channel: "text", text }),
  draft("run.tool.call", { callId: "c", tool: "Bash", label: text, status: "started" }),
  draft("run.tool.call", { callId: "c", tool: "Bash", label: "x", status: "started", input: { text } }),
  draft("run.tool.call", { callId: "c", tool: text, label: text, status: "started", input: [text] }),
  draft("run.tool.call", { callId: text, tool: "Bash", label: "x", status: "started" }),
  draft("run.tool.result", { callId: "c", tool: "Bash", status: "completed", output: text }),
  draft("run.tool.result", { callId: "c", tool: text, status: "completed", output: text }),
  draft("run.tool.result", { callId: text, tool: "Bash", status: "completed" }),
  draft("run.file.read", { path: text }),
  draft("run.file.changed", { path: text, fromPath: text, change: "renamed" }),
  draft("run.diff.ready", { files: 1, additions: 1, deletions: 1, patch: text }),
  draft("run.patch.proposed", { path: "a", patch: text }),
  draft("run.patch.proposed", { path: text, patch: "x" }),
  draft("run.approval.requested", { approvalId, request: request({ command: text }), expiresAt: at }),
  draft("run.approval.requested", {
    approvalId,
    request: request({ title: text, patch: text }),
    expiresAt: at
  }),
  draft("run.approval.requested", { approvalId, request: request({ input: { text } }), expiresAt: at }),
  draft("run.approval.requested", { approvalId, request: request({ files: [text, "a"] }), expiresAt: at }),
  draft("run.approval.requested", { approvalId, request: request({ tool: text, cwd: text }), expiresAt: at }),
  draft("run.approval.requested", { approvalId, request: request({ url: text }), expiresAt: at }),
  draft("run.approval.requested", { approvalId, request: request({ reason: text }), expiresAt: at }),
  draft("run.approval.resolved", { approvalId, state: "denied", reason: text }),
  draft("run.approval.resolved", {
    approvalId,
    state: "approved",
    requestedInput: { text },
    allowedInput: { text, more: text }
  }),
  draft("run.approval.resolved", { approvalId, state: "approved", allowedInput: { [text]: [text] } }),
  draft("runtime.unavailable", { reason: "x", message: text }),
  draft("schema.validation_failed", { message: text, bytes: 1, at: text })
]

/** Types that move the run: losing one changes what a reader of the log sees of it. */
const moves = (type: string): boolean =>
  isTerminalType(type) ||
  /^run\.(created|started|tool\.(call|result)|approval\.(requested|resolved))$/.test(type)

const names = longEvents("").map(({ type, payload }) => `${type} (${Object.keys(payload).join(", ")})`)
const big = "字".repeat(120_000)

describe("fit", () => {
  names.forEach((name, i) => {
    it.prop(
      `${name}, case ${i}: every event fits`,
      [Recipe],
      ([recipe]) => {
        const text = huge(recipe)
        const event = longEvents(text)[i]
        assert(event !== undefined)
        for (const fitting of written(event)) {
          assert.isAtMost(payloadBytes(fitting), MAX_PAYLOAD_BYTES, fitting.type)
        }
      },
      { arbitrary: { runs: 8, maxShrinks: 5 } }
    )

    it(`${name}, case ${i}: stays what it is, and valid`, () => {
      const event = longEvents(big)[i]
      assert(event !== undefined)
      for (const fitting of written(event)) {
        if (moves(event.type)) assert.strictEqual(fitting.type, event.type)
        const valid = Schema.is(eventSchema(fitting.type))(JSON.parse(encode(1, at, fitting)))
        assert.isTrue(valid, fitting.type)
      }
    })
  })

  it.prop(
    "deltas rejoin to the same text, and no pair is torn",
    [Recipe],
    ([recipe]) => {
      const text = huge(recipe)
      const event = draft("run.message.delta", {
        messageId: "m",
        channel: "reasoning",
        text,
        parentCallId: "c"
      })
      const parts = written(event).map((part) => {
        assert(part.type === "run.message.delta")
        assert.deepInclude(part.payload, { messageId: "m", channel: "reasoning", parentCallId: "c" })
        return part.payload.text
      })
      assert.isTrue(parts.join("") === text, "the parts are not the text")
      if (wellFormed(text)) assert.isTrue(parts.every(wellFormed))
    },
    runs
  )

  it.prop(
    "a cut output has both ends of the whole, says how much is missing, and tears no pair",
    [Recipe],
    ([recipe]) => {
      const text = huge(recipe)
      const output = text.repeat(2)
      for (const event of written(
        draft("run.tool.result", { callId: "c", tool: "Bash", status: "completed", output, exitCode: 1 })
      )) {
        assert(event.type === "run.tool.result")
        const { output: stored = "", truncated, totalBytes } = event.payload
        const [, start = stored, bytes, end = ""] =
          /^([^]*)\n⋯ (\d+) bytes ⋯\n([^]*)$/u.exec(truncated === true ? stored : "") ?? []
        assert.isTrue(output.startsWith(start))
        assert.isTrue(output.endsWith(end))
        if (truncated === true) {
          assert.isNotEmpty(start)
          assert.isNotEmpty(end)
          assert.strictEqual(
            Number(bytes),
            Buffer.byteLength(output) - Buffer.byteLength(start) - Buffer.byteLength(end)
          )
        }
        assert.deepInclude(event.payload, { callId: "c", tool: "Bash", status: "completed", exitCode: 1 })
        const isCut = stored !== output
        assert.strictEqual(truncated, isCut ? true : undefined)
        assert.strictEqual(totalBytes, isCut ? Buffer.byteLength(output) : undefined)
        if (wellFormed(output)) assert.isTrue(wellFormed(stored))
      }
    },
    runs
  )

  it.prop(
    "mayExceed is never wrong about an event that is too large",
    [Recipe],
    ([recipe]) => {
      const text = huge(recipe)
      for (const event of longEvents(text)) {
        if (payloadBytes(event) > MAX_PAYLOAD_BYTES)
          assert.isTrue(mayExceed(encode(1, at, event)), event.type)
      }
    },
    tries(3)
  )

  it("leaves alone what fits to the last byte, and not one byte more", () => {
    const delta = (text: string) => draft("run.message.delta", { messageId: "m", channel: "text", text })
    const room = MAX_PAYLOAD_BYTES - payloadBytes(delta(""))
    assert.deepStrictEqual(written(delta("a".repeat(room))), [delta("a".repeat(room))])
    for (const over of [1, 2, 3, 4, 5, 6, 7]) {
      for (const part of written(delta("a".repeat(room + over)))) {
        assert.isAtMost(payloadBytes(part), MAX_PAYLOAD_BYTES, `${over} over`)
      }
    }
  })

  it("keeps usage when it cuts how a run failed", () => {
    const usage = { inputTokens: 7, costUsd: 0.5 }
    const failed = draft("run.failed", { error: { code: "internal", message: "x".repeat(300_000) }, usage })
    assert.deepInclude(fitPayload(failed)[0]?.payload, { usage })
    const completed = draft("run.completed", { text: "x".repeat(300_000), usage })
    assert.deepInclude(fitPayload(completed)[0]?.payload, { usage, truncated: true, totalBytes: 300_000 })
    const turn = draft("run.turn.ended", { turn: 1, text: "x".repeat(300_000), usage, outstanding: 1 })
    assert.deepInclude(fitPayload(turn)[0]?.payload, { usage, truncated: true, totalBytes: 300_000 })
  })

  it("keeps the size of a text that was cut before", () => {
    const text = "x".repeat(300_000)
    const message = { messageId: "m", role: "assistant", channel: "text", text } as const
    const cut = draft("run.message.completed", { ...message, truncated: true, totalBytes: 900_000 })
    assert.deepInclude(fitPayload(cut)[0]?.payload, { truncated: true, totalBytes: 900_000 })
  })

  it("makes an approval that is not shown whole not editable", () => {
    const approvalRequest = request({ editable: true, command: "x".repeat(300_000), input: { command: "x" } })
    const [event] = fitPayload(
      draft("run.approval.requested", { approvalId, request: approvalRequest, expiresAt: at })
    )
    assert(event?.type === "run.approval.requested")
    assert.isFalse(event.payload.request.editable)
    assert.isUndefined(event.payload.request.input)
  })
})

describe("cutText", () => {
  it.prop(
    "gives a beginning whose JSON has that many bytes at most, and no half of a pair; at most one character could follow",
    [Recipe, Schema.Int.check(Schema.isBetween({ minimum: 2, maximum: 3_000 }))],
    ([recipe, bytes]) => {
      const text = huge(recipe)
      const stored = cutText(text, bytes)
      assert.isTrue(text.startsWith(stored))
      assert.isAtMost(Buffer.byteLength(JSON.stringify(stored)), bytes)
      if (wellFormed(text)) {
        assert.isTrue(wellFormed(stored))
        const nextCharacter = String.fromCodePoint(text.codePointAt(stored.length) ?? 0)
        const longer = Buffer.byteLength(JSON.stringify(stored + nextCharacter))
        if (stored.length < text.length) assert.isAbove(longer + "\\ud83d".length, bytes)
      }
    },
    runs
  )
})
