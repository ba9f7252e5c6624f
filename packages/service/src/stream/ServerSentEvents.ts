/**
 * A run's log as `text/event-stream`. `id:` is the seq; a reader that reconnects sends it as `Last-Event-ID`. The stream ends with the run. Also the
 * log as a stream that its consumer pulls.
 */
import { Coalesced } from "../Coalesced.ts"
import { Effect, Option, Stream } from "effect"
import { Sse } from "effect/encoding"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { type LogBatch, type LogSource, ReplayGap, type Start } from "./LogSource.ts"
import { StreamTimes } from "./StreamTimes.ts"
import { LogCursor } from "./LogCursor.ts"

// One log as a stream that its consumer pulls: stored batches first, then new ones, until the run's terminal event.

/**
 * Batches after a position. An empty array means that there is nothing new: as the first element of a log without events after the
 * position, and later every `idleMs`.
 */
export const logStream = <E>(
  source: LogSource<E>,
  { after, isOver }: Start,
  idleMs: number
): Stream.Stream<ReadonlyArray<LogBatch>, E | ReplayGap> =>
  isOver
    ? Stream.empty
    : Stream.unwrap(Effect.map(openCursor(source, after), (pull) => batchesOf(pull, idleMs)))

interface Pull<E> {
  readonly cursor: LogCursor<E>
  readonly wakeUps: Coalesced
}

const openCursor = Effect.fnUntraced(function* <E>(source: LogSource<E>, after: number) {
  const wakeUps = yield* Coalesced.make
  const cursor = new LogCursor(source, after, {
    // Always reads: a consumer that is not ready must not be handed batches.
    canSend: false,
    send: () => undefined,
    resume: wakeUps.wake
  })
  const unfollow = source.follow(cursor)
  yield* Effect.addFinalizer(() => Effect.sync(unfollow))
  cursor.isBehind = true
  const pull: Pull<E> = { cursor, wakeUps }
  return pull
})

const batchesOf = <E>(
  { cursor, wakeUps }: Pull<E>,
  idleMs: number
): Stream.Stream<ReadonlyArray<LogBatch>, E | ReplayGap> => {
  let hasStarted = false
  const next = Effect.gen(function* () {
    for (;;) {
      const batches = yield* cursor.read()
      const last = batches.at(-1)
      const isFirst = !hasStarted
      hasStarted = true
      if (last !== undefined) cursor.position = last.lastSeq
      if (last !== undefined || isFirst) return batches
      const wake = yield* Effect.timeoutOption(wakeUps.woken, idleMs)
      if (Option.isNone(wake)) return batches
    }
  })
  return Stream.fromEffectRepeat(next).pipe(Stream.takeUntil((batches) => batches.at(-1)?.terminal === true))
}

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
