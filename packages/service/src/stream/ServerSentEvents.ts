/**
 * A run's log as `text/event-stream`. `id:` is the seq; a reader that reconnects sends it as `Last-Event-ID`. The stream ends with the run.
 */
import { Effect, Stream } from "effect"
import { Sse } from "effect/encoding"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { ReplayGap } from "./Gap.ts"
import { logStream } from "./LogStream.ts"
import type { LogBatch, LogSource, Start } from "./LogSource.ts"
import { StreamTimes } from "./StreamTimes.ts"

/** A comment. It carries the response head to a reader without events, and keeps a quiet connection open. */
export const SSE_COMMENT = ": \n\n"

export const acceptsEventStream = (request: HttpServerRequest.HttpServerRequest): boolean =>
  /(^|,)\s*text\/event-stream\s*(;|,|$)/i.test(request.headers.accept ?? "")

/** Events of a batch, each under its seq. */
const textOf = ({ firstSeq, lines }: LogBatch): string =>
  lines
    .split("\n")
    .map((data, i) => Sse.encoder.write({ _tag: "Event", event: "message", id: String(firstSeq + i), data }))
    .join("")

/** Text of the stream. Fails before it starts when retention has dropped the next event, or when that event is unreadable. */
export const serverSentEvents = Effect.fnUntraced(function* <E>(
  source: LogSource<E>,
  start: Start
): Effect.fn.Return<Stream.Stream<string, E>, E | ReplayGap> {
  if (start.isOver) return Stream.empty
  if (source.hasDropped(start.after)) return yield* new ReplayGap()
  yield* source.read(start.after, 1)
  const { pingEveryMs } = yield* StreamTimes
  return logStream(source, start, pingEveryMs).pipe(
    Stream.map((batches) => (batches.length === 0 ? SSE_COMMENT : batches.map(textOf).join(""))),
    // A reader that retention overtakes learns the reason when it reconnects.
    Stream.catchTag("ReplayGap", () => Stream.empty)
  )
})

export const eventStreamResponse = <E>(
  text: Stream.Stream<string, E>
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.stream(Stream.encodeText(text), { contentType: "text/event-stream" })
