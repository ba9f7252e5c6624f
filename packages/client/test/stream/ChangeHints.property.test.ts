/** Change feed of a Hub with kinds of hints that this version does not have. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as fc from "fast-check"
import { streamOfBatches } from "../../src/effect/EventStreams.ts"
import { changeHintBatches } from "../../src/stream/ChangeHints.ts"

interface Hint {
  readonly kind: string
  readonly id: string
}

const currentKinds = ["device", "approval", "task", "run", "message"]
const last: Hint = { kind: "run", id: "last" }

const current = fc.record({ kind: fc.constantFrom(...currentKinds), id: fc.string() })
const later = fc
  .record({
    kind: fc.oneof(fc.constantFrom("session", "__proto__", "constructor", "", 7, null), fc.string()),
    id: fc.string()
  })
  .filter(({ kind }) => !currentKinds.includes(String(kind)))
const withoutKind = fc.constantFrom<unknown>(null, 7, "run", [], {})
const groups = fc.array(fc.array(fc.oneof(current, later, withoutKind), { minLength: 1, maxLength: 4 }))

/** Response whose body has one piece for each group, and then stays open. */
const feedOf = (sent: ReadonlyArray<ReadonlyArray<unknown>>): Promise<Response> => {
  const bytes = new TextEncoder()
  const body = new ReadableStream({
    start: (controller) => {
      for (const group of sent)
        controller.enqueue(bytes.encode(group.map((hint) => `data: ${JSON.stringify(hint)}\n\n`).join("")))
    }
  })
  return Promise.resolve(new Response(body))
}

/** Hints of the feed until the last one, as a program with Effect receives them. */
const received = (sent: ReadonlyArray<ReadonlyArray<unknown>>): Promise<ReadonlyArray<Hint>> =>
  streamOfBatches((signal) => changeHintBatches(() => feedOf(sent), { signal })).pipe(
    Stream.takeUntil(({ id }) => id === last.id),
    Stream.runCollect,
    Effect.runPromise
  )

const isCurrent = (hint: unknown): hint is Hint =>
  typeof hint === "object" && hint !== null && "kind" in hint && currentKinds.includes(String(hint.kind))

describe("changeHintBatches", () => {
  it("continues after a group that has only unknown kinds", async () => {
    const unknown = { kind: "session", id: "ses_1" }
    assert.deepStrictEqual(await received([[unknown, unknown], [last]]), [last])
  })

  it("returns the hints of known kinds in order, for any groups", async () => {
    await fc.assert(
      fc.asyncProperty(groups, async (sent) => {
        const hints = await received([...sent, [last]])
        assert.deepStrictEqual(hints, [...sent.flat().filter(isCurrent), last])
      })
    )
  })
})
