/** An answer of any length that a line holds is whole in what an adapter says, although one event holds only a part of it. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Buffer } from "node:buffer"
import { invariantFindings, deltasJoin } from "@corral/conformance/Invariants"
import { replay } from "@corral/conformance/Replay"
import { MAX_LINE_BYTES } from "../src/text/Lines.ts"
import { tries } from "@corral/testing/time/Effort"
import { recordings, registry } from "@corral/testing/recordings/Fixtures"
import { answerOf, saying } from "./Retold.ts"

const Unit = Schema.Literals(["word ", "\u0000", "日本", "👩‍🚀 ", 'quote " \\ '])
const Length = Schema.Literals([10, 32_000, 196_606, 196_607, 300_000, 1_500_000])

for (const [id, adapter] of registry) {
  const answered = recordings(id).find(({ name }) => name === "simple-message")
  if (answered === undefined) continue
  const answer = answerOf(adapter, answered)

  describe(id, () => {
    it.prop(
      "says a long answer whole, in deltas where one event cannot hold it",
      [Unit, Length],
      ([unit, length]) => {
        const text = unit.repeat(Math.ceil(length / unit.length))
        const recording = { ...answered, stdout: saying(answered.stdout, answer, text) }
        const outputs = replay(adapter, recording, [recording.stdout])
        assert.deepStrictEqual([...invariantFindings(outputs), ...deltasJoin(outputs)], [])
        const textOf = (type: "run.message.delta" | "run.message.completed") =>
          outputs
            .flatMap((output) =>
              output._tag === "Event" && output.event.type === type && output.event.payload.channel === "text"
                ? [output.event.payload.text]
                : []
            )
            .join("")
        // A whole message on a line over the limit of lines is in its deltas alone.
        const isWhole = [textOf("run.message.completed"), textOf("run.message.delta")].some((received) =>
          received.includes(text)
        )
        const holdsIt = Buffer.byteLength(JSON.stringify(text)) < MAX_LINE_BYTES
        const isTold = outputs.some(
          (output) => output._tag === "Event" && output.event.type === "schema.validation_failed"
        )
        assert.isTrue(holdsIt ? isWhole : isWhole || isTold)
      },
      tries(2)
    )
  })
}
