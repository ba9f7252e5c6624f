/** One log as a stream that its consumer pulls: stored batches first, then new ones, until the run's terminal event. */
import { Effect, Option, Queue, Stream } from "effect"
import { LogCursor } from "./LogCursor.ts"
import type { ReplayGap } from "./Gap.ts"
import type { LogBatch, LogSource, Start } from "./LogSource.ts"

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
  readonly woken: Queue.Queue<void>
}

const openCursor = Effect.fnUntraced(function* <E>(source: LogSource<E>, after: number) {
  const woken = yield* Queue.sliding<void>(1)
  const cursor = new LogCursor(source, after, {
    // Always reads: a consumer that is not ready must not be handed batches.
    canSend: false,
    send: () => undefined,
    resume: () => void Queue.offerUnsafe(woken, undefined)
  })
  const unfollow = source.follow(cursor)
  yield* Effect.addFinalizer(() => Effect.sync(unfollow))
  cursor.isBehind = true
  const pull: Pull<E> = { cursor, woken }
  return pull
})

const batchesOf = <E>(
  { cursor, woken }: Pull<E>,
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
      const wake = yield* Effect.timeoutOption(Queue.take(woken), idleMs)
      if (Option.isNone(wake)) return batches
    }
  })
  return Stream.fromEffectRepeat(next).pipe(Stream.takeUntil((batches) => batches.at(-1)?.terminal === true))
}
