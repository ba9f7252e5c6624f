/**
 * Events of a `text/event-stream` response, in pieces as they arrive. `EventSource` cannot send a token or report why a stream was refused;
 * `fetch` can.
 *
 * Guarantees: a slow consumer slows the service down. A connection that is silent for 30 s fails as `unreachable`: the service sends a
 * comment every 20 s. A page that is seen again fails one after 25 s. A stream without a head fails after 15 s.
 */
import { PING_EVERY_SECONDS } from "@corral/domain/http/StreamEnd"
import { type ServerSentEvent, ServerSentEventParser } from "@corral/domain/http/ServerSentEvents"
import { CorralError } from "../http/CorralError.ts"
import type { Transport } from "../http/Transport.ts"
import { onPageWake } from "./Reconnection.ts"

const SILENT_AFTER_MS = PING_EVERY_SECONDS * 1_500
/** A comment is missing: a page that wakes up does not wait for its timer. */
const DOUBTED_AFTER_MS = PING_EVERY_SECONDS * 1_250

/** The service sends the head of a stream at once. */
const OPENS_WITHIN_MS = 15_000

export const openEventStream = (
  transport: Transport,
  path: string,
  signal: AbortSignal | undefined
): Promise<Response> =>
  transport.send({
    method: "GET",
    path,
    headers: { accept: "text/event-stream" },
    signal,
    timeoutMs: OPENS_WITHIN_MS
  })

const lost = (cause?: unknown): CorralError =>
  new CorralError("unreachable", { message: "Lost connection to the server.", cause })

/** One read, or the failure of a silent connection. */
const readWithin = async <A>(read: Promise<A>): Promise<A> => {
  const silence = Promise.withResolvers<never>()
  const fail = () => silence.reject(lost())
  // Not `performance.now()`, which may stand still while the computer sleeps.
  const startedAt = new Date().getTime()
  const timer = setTimeout(fail, SILENT_AFTER_MS)
  const stopWatching = onPageWake(() => {
    if (new Date().getTime() - startedAt > DOUBTED_AFTER_MS) fail()
  })
  try {
    return await Promise.race([read, silence.promise])
  } catch (error) {
    throw error instanceof CorralError ? error : lost(error)
  } finally {
    clearTimeout(timer)
    stopWatching()
  }
}

/** Events that arrived together, without empty pieces. Ends with the response. `onBytes` is called for comments too. */
export async function* eventsOfBody(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  onBytes?: () => void
): AsyncGenerator<ReadonlyArray<ServerSentEvent>> {
  const parser = new ServerSentEventParser()
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  try {
    for (;;) {
      const { done, value } = await readWithin(reader.read())
      if (done) return
      onBytes?.()
      const events = parser.push(value)
      if (events.length > 0) yield events
    }
  } finally {
    // A consumer that stops early ends the request.
    void reader.cancel().catch(() => undefined)
  }
}
