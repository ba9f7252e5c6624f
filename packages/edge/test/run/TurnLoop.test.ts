import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber } from "effect"
import { TurnLoop } from "../../src/run/actor/TurnLoop.ts"

/** A loop whose turns end at once, unless they contain a word for the fiber. It is closed after "end". */
const opened = (capacity?: number) => {
  const turns: Array<ReadonlyArray<string>> = []
  const performed: Array<string> = []
  let during: () => void = () => undefined
  const begin = (messages: ReadonlyArray<string>) => {
    turns.push(messages)
    during()
    if (messages.includes("throw")) throw new Error("thrown")
    const words = messages.filter((message) => /work|end/.test(message))
    if (words.length === 0) return loop.end()
    loop.perform(
      Effect.andThen(
        Effect.yieldNow,
        Effect.sync(() => {
          performed.push(...words)
          if (messages.includes("end")) loop.close()
          else loop.end()
        })
      )
    )
  }
  const loop: TurnLoop<string, string, never> = new TurnLoop(begin, capacity)
  const start = Effect.forkChild(loop.run, { startImmediately: true })
  return { duringTurns: (act: () => void) => (during = act), loop, performed, start, turns }
}

describe("TurnLoop", () => {
  it.effect("begins a turn within the post, without the fiber", () =>
    Effect.gen(function* () {
      const { loop, performed, start, turns } = opened()
      const fiber = yield* start
      assert.isTrue(loop.post("a"))
      assert.isTrue(loop.post("b"))
      assert.deepStrictEqual(turns, [["a"], ["b"]])
      loop.post("end")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(performed, ["end"])
    })
  )

  it.effect("takes together what is posted while the fiber works", () =>
    Effect.gen(function* () {
      const { loop, performed, start, turns } = opened()
      const fiber = yield* start
      for (const message of ["work 1", "a", "b", "work 2", "c"]) loop.post(message)
      assert.deepStrictEqual(turns, [["work 1"]])
      yield* Effect.yieldNow
      yield* Effect.yieldNow
      loop.post("end")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(turns.flat(), ["work 1", "a", "b", "work 2", "c", "end"])
      assert.deepStrictEqual(turns[1], ["a", "b", "work 2", "c"])
      assert.deepStrictEqual(performed, ["work 1", "work 2", "end"])
    })
  )

  it.effect("leaves what a turn posts to the next turn, and does not nest them", () =>
    Effect.gen(function* () {
      const { duringTurns, loop, start, turns } = opened()
      const fiber = yield* start
      let left = 3
      duringTurns(() => {
        if (left-- > 0) loop.post(`${left}`)
      })
      loop.post("first")
      assert.deepStrictEqual(turns, [["first"], ["2"], ["1"], ["0"]])
      loop.post("end")
      yield* Fiber.join(fiber)
    })
  )

  it.effect("gives the turn in progress what it asks for", () =>
    Effect.gen(function* () {
      const { duringTurns, loop, start, turns } = opened()
      const fiber = yield* start
      const taken: Array<ReadonlyArray<string>> = []
      duringTurns(() => {
        if (turns.length > 1) return
        loop.post("meanwhile")
        taken.push(loop.takeWaiting(), loop.takeWaiting())
      })
      loop.post("first")
      assert.deepStrictEqual(taken, [["meanwhile"], []])
      assert.deepStrictEqual(turns, [["first"]])
      loop.post("end")
      yield* Fiber.join(fiber)
    })
  )

  it.effect("keeps messages until the fiber is there, up to its capacity", () =>
    Effect.gen(function* () {
      const { loop, start, turns } = opened(4)
      for (const message of ["a", "b", "c", "end"]) assert.isTrue(loop.post(message))
      assert.isFalse(loop.post("d"))
      assert.deepStrictEqual(turns, [])
      yield* Effect.flatMap(start, Fiber.join)
      assert.deepStrictEqual(turns, [["a", "b", "c", "end"]])
    })
  )

  it.effect("lasts until a turn that another one has begun is over", () =>
    Effect.gen(function* () {
      let settle: () => void = () => undefined
      const loop: TurnLoop<string, never, never> = new TurnLoop((messages) => {
        if (messages.includes("first")) {
          loop.perform(Effect.sync(() => (loop.post("last"), loop.end())))
        } else {
          settle = () => loop.perform(Effect.sync(() => loop.close()))
        }
      })
      const fiber = yield* Effect.forkChild(loop.run, { startImmediately: true })
      loop.post("first")
      yield* Effect.yieldNow
      assert.isTrue(loop.isOpen)
      settle()
      yield* Fiber.join(fiber)
      assert.isFalse(loop.isOpen)
    })
  )

  it.effect("begins no turn after the fiber has ended, and none after the last one", () =>
    Effect.gen(function* () {
      const { loop, start, turns } = opened()
      const fiber = yield* start
      loop.post("a")
      yield* Fiber.interrupt(fiber)
      loop.post("b")
      loop.end()
      assert.deepStrictEqual(turns, [["a"]])
      const over = opened()
      const other = yield* over.start
      over.loop.post("end")
      over.loop.post("b")
      yield* Fiber.join(other)
      over.loop.post("c")
      assert.deepStrictEqual(over.turns, [["end"]])
    })
  )

  it.effect("ends the fiber with what a turn throws, or fails with, and no one else", () =>
    Effect.gen(function* () {
      const throwing = opened()
      const fiber = yield* throwing.start
      assert.isTrue(throwing.loop.post("throw"))
      const exit = yield* Fiber.await(fiber)
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      const failing = opened()
      const other = yield* failing.start
      failing.loop.perform(Effect.fail("the store failed"))
      assert.strictEqual(yield* Effect.flip(Fiber.join(other)), "the store failed")
    })
  )
})
