import { tries } from "@corral/testing/time/Effort"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Result, Schema } from "effect"
import { decodeEvent, Envelope, eventSchema, eventTypes, payloads } from "../../src/run/RunEvent.ts"

/** What a log holds and a socket carries. */
const wire = (value: unknown): Record<string, unknown> => JSON.parse(JSON.stringify(value))

const Json = Arbitrary.schema(Schema.Json)

/** For each of many types. */
const runs = tries(30)

/** Any event of a type as it goes over the wire; free-form fields hold any JSON. */
const wireEvent = (type: (typeof eventTypes)[number]) =>
  Arbitrary.map(Arbitrary.schema(Schema.toCodecJson(eventSchema(type))), wire)

const decoded = (input: unknown) => {
  const result = decodeEvent(input)
  return Result.isSuccess(result) ? result.success : undefined
}

describe("RunEvent", () => {
  for (const type of eventTypes) {
    it.prop(
      `${type} survives its own round trip`,
      [wireEvent(type)],
      ([event]) => {
        assert.deepStrictEqual(decoded(event), { _tag: "KnownEvent", event } as never)
      },
      runs
    )

    it.prop(
      `${type} keeps a field that a later version adds`,
      [wireEvent(type), Json],
      ([event, added]) => {
        const later = { ...event, payload: { ...(event["payload"] as object), addedLater: added } }
        assert.deepStrictEqual(decoded(later), { _tag: "KnownEvent", event: later } as never)
      },
      runs
    )

    it.prop(
      `${type} of a later payload version is kept whole`,
      [wireEvent(type)],
      ([event]) => {
        const later = { ...event, payload: { ...(event["payload"] as object), v: 2 } }
        assert.deepStrictEqual(decoded(later), { _tag: "UnknownEvent", envelope: later } as never)
      },
      runs
    )
  }

  const anEnvelope = Arbitrary.map(Arbitrary.schema(Envelope), wire)

  it.prop("an unknown type is kept whole", [anEnvelope], ([envelope]) => {
    const event = { ...envelope, type: `later.${String(envelope["type"])}` }
    assert.deepStrictEqual(decoded(event), { _tag: "UnknownEvent", envelope: event } as never)
  })

  it.prop("a known type whose payload does not fit is kept whole", [anEnvelope], ([envelope]) => {
    const event = { ...envelope, type: "run.message.delta", payload: { v: 1, text: 1 } }
    assert.deepStrictEqual(decoded(event), { _tag: "UnknownEvent", envelope: event } as never)
  })

  for (const field of ["id", "seq", "type", "runId", "createdAt", "payload"]) {
    it.prop(`an envelope without ${field} is refused`, [anEnvelope], ([envelope]) => {
      const { [field]: _, ...broken } = envelope
      assert.isTrue(Result.isFailure(decodeEvent(broken)))
    })
  }

  it.prop(
    "decodes or refuses every input without throwing",
    [Arbitrary.schema(Schema.Unknown)],
    ([input]) => {
      decodeEvent(input)
    }
  )

  it("has a payload schema for every type", () => {
    assert.deepStrictEqual(Object.keys(payloads), [...eventTypes])
  })
})
