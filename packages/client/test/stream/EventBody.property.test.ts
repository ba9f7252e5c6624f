import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { ServerSentEventParser } from "@corral/domain/http/ServerSentEvents"
import { eventsOfBody } from "../../src/stream/EventBody.ts"

const line = fc.string({ unit: "binary" }).map((text) => text.replaceAll(/[\r\n]/g, "").toWellFormed())
const event = fc.record({ id: fc.option(fc.nat().map(String), { nil: undefined }), data: line })

const written = ({ data, id }: { readonly id: string | undefined; readonly data: string }): string =>
  `${id === undefined ? "" : `id: ${id}\n`}data: ${data}\n\n`

describe("text/event-stream", () => {
  it("does not depend on how the bytes are cut", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(event), fc.integer({ min: 1, max: 7 }), async (events, size) => {
        const bytes = new TextEncoder().encode(`: hello\n\n${events.map(written).join("")}`)
        const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
          start(controller) {
            for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size))
            controller.close()
          }
        })
        const read: Array<unknown> = []
        for await (const each of eventsOfBody(body)) read.push(...each)
        assert.deepStrictEqual(read, events)
      })
    )
  })

  it("ignores comments, joins data lines and keeps an incomplete event", () => {
    const reader = new ServerSentEventParser()
    assert.deepStrictEqual(reader.push(": \n\ndata: a\ndata: b\nid: 7\nretry: 3\n\ndata: c"), [
      { id: "7", data: "a\nb" }
    ])
    assert.deepStrictEqual(reader.push("\r\n\r\n"), [{ id: undefined, data: "c" }])
  })
})
