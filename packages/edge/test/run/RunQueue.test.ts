import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Schema, Scope } from "effect"
import { RunQueue } from "../../src/run/live/LiveRuns.ts"

/** Takes a slot and holds it until `end`; `order` tells who got one. */
const enter = Effect.fnUntraced(function* (
  queue: RunQueue,
  flow: string,
  name: string,
  order: Array<string>
) {
  const scope = yield* Scope.make()
  const fiber = yield* Effect.forkChild(
    queue.slot(flow).pipe(
      Scope.provide(scope),
      Effect.tap(() => Effect.sync(() => order.push(name)))
    ),
    { startImmediately: true }
  )
  return { fiber, end: Scope.close(scope, Exit.void) }
})

describe("RunQueue", () => {
  it.effect("lets in as many as there are slots, and the next when one leaves", () =>
    Effect.gen(function* () {
      const queue = new RunQueue(2)
      const order: Array<string> = []
      const [a] = [yield* enter(queue, "x", "a", order), yield* enter(queue, "x", "b", order)]
      const c = yield* enter(queue, "x", "c", order)
      assert.deepStrictEqual([order, queue.waiting], [["a", "b"], 1])
      yield* a.end
      yield* Fiber.join(c.fiber)
      assert.deepStrictEqual([order, queue.waiting], [["a", "b", "c"], 0])
    })
  )

  it.effect("takes flows in turn: a hundred runs of one delay another by one", () =>
    Effect.gen(function* () {
      const queue = new RunQueue(1)
      const order: Array<string> = []
      const first = yield* enter(queue, "greedy", "g0", order)
      const greedy = yield* Effect.forEach([1, 2, 3, 4], (n) => enter(queue, "greedy", `g${n}`, order))
      const modest = yield* enter(queue, "modest", "m1", order)
      yield* first.end
      for (const entered of [greedy[0], modest, greedy[1], greedy[2], greedy[3]]) {
        if (entered === undefined) throw new Error("there are four")
        yield* Fiber.join(entered.fiber)
        yield* entered.end
      }
      assert.deepStrictEqual(order, ["g0", "g1", "m1", "g2", "g3", "g4"])
    })
  )

  it.effect("forgets who stops waiting", () =>
    Effect.gen(function* () {
      const queue = new RunQueue(1)
      const order: Array<string> = []
      const first = yield* enter(queue, "x", "a", order)
      const second = yield* enter(queue, "x", "b", order)
      const third = yield* enter(queue, "y", "c", order)
      yield* Fiber.interrupt(second.fiber)
      yield* second.end
      assert.strictEqual(queue.waiting, 1)
      yield* first.end
      yield* Fiber.join(third.fiber)
      assert.deepStrictEqual(order, ["a", "c"])
    })
  )

  it.effect("loses no slot when the one who is called leaves in the same moment", () =>
    Effect.gen(function* () {
      const queue = new RunQueue(1)
      const order: Array<string> = []
      const first = yield* enter(queue, "x", "a", order)
      const second = yield* enter(queue, "x", "b", order)
      yield* Effect.andThen(first.end, Fiber.interrupt(second.fiber))
      yield* second.end
      yield* Fiber.join((yield* enter(queue, "x", "c", order)).fiber)
      assert.include(order, "c")
    })
  )

  it.effect.prop(
    "never lets in more than there are slots, and everybody in the end",
    [Schema.Array(Schema.Literals(["x", "y", "z"])), Schema.Literals([1, 2, 3])],
    ([flows, slots]) =>
      Effect.gen(function* () {
        const queue = new RunQueue(slots)
        let inside = 0
        let served = 0
        const all = yield* Effect.forEach(flows, (flow) =>
          Effect.forkChild(
            Effect.scoped(
              Effect.gen(function* () {
                yield* queue.slot(flow)
                inside++
                assert.isAtMost(inside, slots)
                yield* Effect.yieldNow
                inside--
                served++
              })
            )
          )
        )
        yield* Fiber.joinAll(all)
        assert.deepStrictEqual([served, queue.waiting], [flows.length, 0])
      })
  )
})
