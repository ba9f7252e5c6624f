/**
 * Group commit: items that arrive during a transaction are written together in the next one, so concurrent callers share its duration.
 *
 * Guarantees: a group succeeds or fails as a whole. An item whose caller is interrupted before its group starts is not written.
 */
import { Deferred, Effect, Exit, Latch, type Scope } from "effect"

interface PendingItem<A, B, E> {
  readonly item: A
  readonly result: Deferred.Deferred<B, E>
}

/** `write` returns a result for each item, in the order of the items. Items are written until the scope closes. */
export const groupCommit = Effect.fnUntraced(function* <A, B, E>(
  maxItems: number,
  write: (items: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<B>, E>
): Effect.fn.Return<(item: A) => Effect.Effect<B, E>, never, Scope.Scope> {
  type Item = PendingItem<A, B, E>
  let pending: Array<Item> = []
  let isClosed = false
  const hasPending = Latch.makeUnsafe(false)

  const answer = (group: ReadonlyArray<Item>, exit: Exit.Exit<ReadonlyArray<B>, E>): void =>
    group.forEach(({ result }, at) =>
      // One value per item, as `write` promises.
      Deferred.doneUnsafe(
        result,
        Exit.map(exit, (values) => values[at] as B)
      )
    )

  const writeNext = Effect.gen(function* () {
    yield* hasPending.await
    const group = pending.slice(0, maxItems)
    pending = pending.slice(maxItems)
    if (pending.length === 0) hasPending.closeUnsafe()
    if (group.length === 0) return
    // Also when the writer is interrupted: a caller must not have to wait for the writer's end as well.
    yield* write(group.map(({ item }) => item)).pipe(
      Effect.onExit((exit) => Effect.sync(() => answer(group, exit))),
      Effect.exit
    )
  })
  const close = Effect.sync(() => {
    isClosed = true
    answer(pending, Exit.interrupt())
    pending = []
  })
  yield* Effect.forkScoped(Effect.ensuring(Effect.forever(writeNext), close))

  return (item) =>
    Effect.suspend(() => {
      if (isClosed) return Effect.interrupt
      const entry: Item = { item, result: Deferred.makeUnsafe() }
      pending.push(entry)
      hasPending.openUnsafe()
      return Effect.onInterrupt(Deferred.await(entry.result), () =>
        Effect.sync(() => {
          pending = pending.filter((each) => each !== entry)
        })
      )
    })
})
