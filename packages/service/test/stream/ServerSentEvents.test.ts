import { assert, describe, it } from "@effect/vitest"
import { Stream } from "effect"
import { eventStreamResponse } from "../../src/stream/ServerSentEvents.ts"

describe("eventStreamResponse", () => {
  it("asks proxies neither to collect, nor to store, nor to change the stream", () => {
    const { headers } = eventStreamResponse(Stream.empty)
    assert.deepInclude<object>(headers, {
      "content-type": "text/event-stream",
      "cache-control": "no-store, no-transform",
      "x-accel-buffering": "no"
    })
  })
})
