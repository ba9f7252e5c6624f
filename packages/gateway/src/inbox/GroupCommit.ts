/**
 * Many that wait, one transaction: whatever came while the last group was written makes up the next one. A store that takes a while costs
 * everyone that while, once, and not one after the other.
 *
 * A group succeeds or fails as a whole. Who goes away before its group was begun is left out.
 */
import { Deferred, Effect, Fiber, Latch, type Scope } from "effect"

interface Waiting<A, B, E> {
  readonly item: A
  readonly answer: Deferred.Deferred<B, E>
}

/** `write` gives an answer for each item, in their order. */
export const groupCommit = Effect.fnUntraced(function* <A, B, E>(
  most: number,
  write: (items: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<B>, E>
): Effect.fn.Return<(item: A) => Effect.Effect<B, E>, never, Scope.Scope> {
  let waiting: Array<Waiting<A, B, E>> = []
  const some = Latch.makeUnsafe(false)

  const writeNext = Effect.gen(function* () {
    yield* some.await
    const group = waiting.slice(0, most)
    waiting = waiting.slice(most)
    if (waiting.length === 0) some.closeUnsafe()
    if (group.length === 0) return
    const exit = yield* Effect.exit(
      Effect.map(write(group.map(({ item }) => item)), (answers) =>
        group.map(({ answer }, at) => ({ answer, value: answers[at] as B }))
      )
    )
    if (exit._tag === "Success") {
      for (const { answer, value } of exit.value) yield* Deferred.succeed(answer, value)
    } else {
      for (const { answer } of group) yield* Deferred.failCause(answer, exit.cause)
    }
  })
  const writer = yield* Effect.forkScoped(Effect.forever(writeNext))

  return Effect.fnUntraced(function* (item) {
    const entry = { item, answer: yield* Deferred.make<B, E>() }
    waiting.push(entry)
    some.openUnsafe()
    return yield* Effect.raceFirst(
      Deferred.await(entry.answer),
      Effect.andThen(Fiber.await(writer), Effect.interrupt)
    ).pipe(
      Effect.onInterrupt(() =>
        Effect.sync(() => {
          waiting = waiting.filter((each) => each !== entry)
        })
      )
    )
  })
})
