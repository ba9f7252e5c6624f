/** Events of a `text/event-stream` response body. `EventSource` cannot report why a stream was refused; `fetch` can. */
import { type ServerSentEvent, ServerSentEventParser } from "@corral/domain/http/ServerSentEvents"

export async function* eventsOf(
  body: ReadableStream<Uint8Array<ArrayBuffer>>
): AsyncGenerator<ServerSentEvent> {
  const parser = new ServerSentEventParser()
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield* parser.push(value)
    }
  } finally {
    // A consumer that stops early ends the request.
    void reader.cancel().catch(() => undefined)
  }
}
