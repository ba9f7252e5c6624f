/**
 * Group commit: items that arrive during a transaction are written together in the next one, so concurrent callers share its duration.
 *
 * Guarantees: a group succeeds or fails as a whole. An item whose caller is interrupted before its group starts is not written.
 */
import { Deferred, Effect, Fiber, Latch, type Scope } from "effect"

interface PendingItem<A, B, E> {
  readonly item: A
  readonly result: Deferred.Deferred<B, E>
}

/** `write` returns a result for each item, in the order of the items. */
export const groupCommit = Effect.fnUntraced(function* <A, B, E>(
  maxItems: number,
  write: (items: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<B>, E>
): Effect.fn.Return<(item: A) => Effect.Effect<B, E>, never, Scope.Scope> {
  let pending: Array<PendingItem<A, B, E>> = []
  const hasPending = Latch.makeUnsafe(false)

  const writeNext = Effect.gen(function* () {
    yield* hasPending.await
    const group = pending.slice(0, maxItems)
    pending = pending.slice(maxItems)
    if (pending.length === 0) hasPending.closeUnsafe()
    if (group.length === 0) return
    const exit = yield* Effect.exit(
      Effect.map(write(group.map(({ item }) => item)), (values) =>
        group.map(({ result }, at) => ({ result, value: values[at] as B }))
      )
    )
    if (exit._tag === "Success") {
      for (const { result, value } of exit.value) yield* Deferred.succeed(result, value)
    } else {
      for (const { result } of group) yield* Deferred.failCause(result, exit.cause)
    }
  })
  const writer = yield* Effect.forkScoped(Effect.forever(writeNext))

  return Effect.fnUntraced(function* (item) {
    const entry = { item, result: yield* Deferred.make<B, E>() }
    pending.push(entry)
    hasPending.openUnsafe()
    return yield* Effect.raceFirst(
      Deferred.await(entry.result),
      Effect.andThen(Fiber.await(writer), Effect.interrupt)
    ).pipe(
      Effect.onInterrupt(() =>
        Effect.sync(() => {
          pending = pending.filter((each) => each !== entry)
        })
      )
    )
  })
})
