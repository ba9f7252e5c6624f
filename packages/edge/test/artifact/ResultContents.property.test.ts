import type { ArtifactId } from "@corral/domain/identity/Ids"
import { draft, type EventDraft } from "@corral/domain/run/RunEvent"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { ResultContents } from "../../src/artifact/ResultContents.ts"

const anyCall = fc.constantFrom("c1", "c2", "c3")
const anyMediaType = fc.constantFrom("image/png", "audio/wav", "text/plain")

const artifact = (callId: string | undefined, mediaType: string, number: number): EventDraft =>
  draft("run.artifact.ready", {
    artifactId: `art_${number}` as ArtifactId, // unique, and read by nothing
    name: `file ${number}`,
    mediaType,
    size: 1,
    sha256: "",
    ...(callId === undefined ? {} : { callId })
  })

const result = (callId: string): EventDraft =>
  draft("run.tool.result", { callId, tool: "picture", status: "completed" })

/** Artifacts and results in any order, each result as the runtime gives it. */
const anyEvents = fc
  .array(
    fc.oneof(
      fc.record({ callId: fc.option(anyCall, { nil: undefined }), mediaType: anyMediaType }),
      fc.record({ result: anyCall })
    ),
    { maxLength: 30 }
  )
  .map((events) =>
    events.map((event, at) =>
      "result" in event ? result(event.result) : artifact(event.callId, event.mediaType, at)
    )
  )

/** Writes the events, and follows what it has written. */
const write = (contents: ResultContents, events: ReadonlyArray<EventDraft>): ReadonlyArray<EventDraft> =>
  events.map((event) => {
    const written = contents.addTo(event)
    contents.read(written)
    return written
  })

describe("ResultContents", () => {
  it("names the same artifacts in each result, whenever the next Edge reads the log", () => {
    fc.assert(
      fc.property(anyEvents, fc.nat({ max: 30 }), (events, split) => {
        const whole = write(new ResultContents(), events)
        const before = write(new ResultContents(), events.slice(0, split))
        const next = new ResultContents()
        for (const event of before) next.read(event)
        assert.deepStrictEqual([...before, ...write(next, events.slice(split))], whole)
      })
    )
  })

  it("names each artifact of a call once, in the next result of that call", () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const waiting = new Map<string, Array<string>>()
        for (const event of write(new ResultContents(), events)) {
          if (event.type === "run.artifact.ready" && event.payload.callId !== undefined)
            waiting.set(event.payload.callId, [
              ...(waiting.get(event.payload.callId) ?? []),
              event.payload.artifactId
            ])
          if (event.type !== "run.tool.result") continue
          const named = (event.payload.content ?? []).map(({ artifactId = "" }) => artifactId)
          assert.deepStrictEqual(named, waiting.get(event.payload.callId) ?? [])
          waiting.delete(event.payload.callId)
        }
      })
    )
  })
})
