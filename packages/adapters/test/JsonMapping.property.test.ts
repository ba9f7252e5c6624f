/** Lines of one type may mean several things: what each line holds decides, and no text is split, repeated or lost. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Buffer } from "node:buffer"
import { replay } from "@corral/conformance/Replay"
import { invariantFindings, deltasJoin } from "@corral/conformance/Invariants"
import { makeJsonLines } from "../src/JsonMapping.ts"
import type { JsonMap } from "../src/one-shot/MappedLines.ts"
import { tries } from "@corral/testing/time/Effort"

const program = { label: "A program", command: ["program"], stdin: "none", install: "" } as const
const start = { prompt: "Do it.", mode: "full_access", workspacePath: "/workspace" } as const
const exit = { code: 0, signal: null, stderr: "" }

const Turn = Schema.Struct({ pieces: Schema.Array(Schema.NonEmptyString), calls: Schema.Boolean })
const Turns = Schema.Array(Turn)

/** The same meanings, with their lines under one type, two or many. */
const types: ReadonlyArray<Record<"delta" | "message" | "call" | "result" | "end", string>> = [
  { delta: "event", message: "event", call: "event", result: "event", end: "event" },
  { delta: "event", message: "said", call: "event", result: "event", end: "end" },
  { delta: "event", message: "event", call: "tool", result: "tool", end: "end" },
  { delta: "delta", message: "said", call: "call", result: "result", end: "end" }
]

const mapOf = (type: (typeof types)[number]): JsonMap => ({
  type: "type",
  delta: { when: [type.delta], text: "piece" },
  message: { when: [type.message], text: "whole" },
  toolCall: { when: [type.call], id: "call.id", name: "call.name" },
  toolResult: { when: [type.result], id: "result.id", output: "result.output" },
  ...(type.end === "event" ? {} : { completed: { when: [type.end] } })
})

describe("A JSON map", () => {
  it.prop(
    "emits each message once, also when its lines share types",
    [Turns, Schema.Literals([0, 1, 2, 3])],
    ([turns, at]) => {
      const type = types[at]
      assert(type !== undefined)
      const withText = turns.filter(({ pieces }) => pieces.length > 0)
      const lines = turns.flatMap(({ calls, pieces }, turn) => [
        ...pieces.map((piece) => ({ type: type.delta, piece })),
        ...(pieces.length === 0 ? [] : [{ type: type.message, whole: pieces.join("") }]),
        ...(calls
          ? [
              { type: type.call, call: { id: `call-${turn}`, name: "tool" } },
              { type: type.result, result: { id: `call-${turn}`, output: "done" } }
            ]
          : [])
      ])
      const printed = [...lines, { type: type.end }].map((line) => `${JSON.stringify(line)}\n`).join("")
      const adapter = makeJsonLines({ ...program, map: mapOf(type) })
      const outputs = replay(adapter, { start, exit }, [Buffer.from(printed)])

      assert.deepStrictEqual([...invariantFindings(outputs), ...deltasJoin(outputs)], [])
      const events = outputs.flatMap((output) => (output._tag === "Event" ? [output.event] : []))
      const texts = events.flatMap((event) =>
        event.type === "run.message.completed" ? [event.payload.text] : []
      )
      assert.deepStrictEqual(
        texts,
        withText.map(({ pieces }) => pieces.join(""))
      )
      const results = events.filter((event) => event.type === "run.tool.result")
      assert.strictEqual(results.length, turns.filter(({ calls }) => calls).length)
      assert.isEmpty(outputs.filter(({ _tag }) => _tag === "Unknown"))
    },
    tries(100)
  )

  it("fails a run by the reason where one type ends it either way", () => {
    const map: JsonMap = {
      type: "type",
      completed: { when: ["result"], text: "answer" },
      failed: { when: ["result", "error"], message: "error" }
    }
    const outcomeOf = (line: string) => {
      const outputs = replay(makeJsonLines({ ...program, map }), { start, exit }, [Buffer.from(`${line}\n`)])
      const last = outputs.at(-1)
      return last?._tag === "Outcome" ? last.outcome._tag : undefined
    }
    assert.strictEqual(outcomeOf('{"type":"result","answer":"Done.","error":null}'), "Completed")
    assert.strictEqual(outcomeOf('{"type":"result","answer":"","error":"quota"}'), "Failed")
    assert.strictEqual(outcomeOf('{"type":"error"}'), "Failed")
  })
})
