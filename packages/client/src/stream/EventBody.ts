/**
 * Events of a `text/event-stream` response, in pieces as they arrive. `EventSource` cannot send a token or report why a stream was refused;
 * `fetch` can.
 *
 * Guarantees: a slow consumer slows the service down. A connection that is silent for 50 s, which is more than two comments of the service,
 * fails as `unreachable`.
 */
import { PING_EVERY_SECONDS } from "@corral/domain/http/StreamEnd"
import { type ServerSentEvent, ServerSentEventParser } from "@corral/domain/http/ServerSentEvents"
import { CorralError } from "../http/CorralError.ts"

const SILENT_AFTER_MS = PING_EVERY_SECONDS * 2_500

const lost = (cause?: unknown): CorralError =>
  new CorralError("unreachable", { message: "Lost connection to the server.", cause })

/** One read, or the failure of a silent connection. */
const readWithin = async <A>(read: Promise<A>): Promise<A> => {
  const silence = Promise.withResolvers<never>()
  const timer = setTimeout(() => silence.reject(lost()), SILENT_AFTER_MS)
  try {
    return await Promise.race([read, silence.promise])
  } catch (error) {
    throw error instanceof CorralError ? error : lost(error)
  } finally {
    clearTimeout(timer)
  }
}

/** Events that arrived together, without empty pieces. Ends with the response. */
export async function* eventsOfBody(
  body: ReadableStream<Uint8Array<ArrayBuffer>>
): AsyncGenerator<ReadonlyArray<ServerSentEvent>> {
  const parser = new ServerSentEventParser()
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  try {
    for (;;) {
      const { done, value } = await readWithin(reader.read())
      if (done) return
      const events = parser.push(value)
      if (events.length > 0) yield events
    }
  } finally {
    // A consumer that stops early ends the request.
    void reader.cancel().catch(() => undefined)
  }
}
