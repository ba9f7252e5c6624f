import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { Mailbox } from "../../src/run/Mailbox.ts"

/** A mailbox whose owner takes until "end", and a direct processing of numbers: odd ones leave something to the owner. */
const opened = Effect.gen(function* () {
  const mailbox = new Mailbox<string | number>(4)
  const taken: Array<ReadonlyArray<string | number>> = []
  const processed: Array<number> = []
  let duringNext: () => void = () => undefined
  mailbox.processDirectly({
    accepts: (message) => typeof message === "number",
    process: (message) => {
      processed.push(Number(message))
      duringNext()
      return Number(message) % 2 === 0
    }
  })
  const takeUntilEnd: Effect.Effect<void> = Effect.flatMap(mailbox.take, (messages) => {
    taken.push(messages)
    return messages.includes("end") ? Effect.void : takeUntilEnd
  })
  const start = Effect.forkChild(takeUntilEnd, { startImmediately: true })
  const during = (act: () => void) => (duringNext = act)
  return { during, mailbox, processed, start, taken }
})

describe("Mailbox", () => {
  it.effect("processes a message without the owner while the owner waits", () =>
    Effect.gen(function* () {
      const { mailbox, processed, start, taken } = yield* opened
      const owner = yield* start
      assert.isTrue(mailbox.post(2))
      assert.isTrue(mailbox.post(4))
      assert.deepStrictEqual(taken, [])
      mailbox.post("end")
      yield* Fiber.join(owner)
      assert.deepStrictEqual(processed, [2, 4])
      assert.deepStrictEqual(taken, [["end"]])
    })
  )

  it.effect("resumes the owner without messages if something is left to it", () =>
    Effect.gen(function* () {
      const { mailbox, processed, start, taken } = yield* opened
      const owner = yield* start
      mailbox.post(1)
      assert.deepStrictEqual(taken, [[]])
      mailbox.post("end")
      yield* Fiber.join(owner)
      assert.deepStrictEqual(processed, [1])
    })
  )

  it.effect("gives the owner what is posted meanwhile, after what is left", () =>
    Effect.gen(function* () {
      const { during, mailbox, processed, start, taken } = yield* opened
      const owner = yield* start
      during(() => void mailbox.post("meanwhile"))
      mailbox.post(2)
      assert.deepStrictEqual(taken, [["meanwhile"]])
      during(() => void mailbox.post("later"))
      mailbox.post(1)
      assert.deepStrictEqual(taken, [["meanwhile"], [], ["later"]])
      mailbox.post("end")
      yield* Fiber.join(owner)
      assert.deepStrictEqual(processed, [2, 1])
    })
  )

  it.effect("queues messages while no owner waits, up to its capacity", () =>
    Effect.gen(function* () {
      const { mailbox, processed, start, taken } = yield* opened
      for (const message of [2, "a", 4, "end"]) assert.isTrue(mailbox.post(message))
      assert.isFalse(mailbox.post(6))
      yield* Effect.flatMap(start, Fiber.join)
      assert.deepStrictEqual(taken, [[2, "a", 4, "end"]])
      assert.deepStrictEqual(processed, [])
    })
  )

  it.effect("processes nothing for an owner that was interrupted, also meanwhile", () =>
    Effect.gen(function* () {
      const { during, mailbox, processed, start } = yield* opened
      const owner = yield* start
      during(() => owner.interruptUnsafe())
      mailbox.post(2)
      yield* Fiber.await(owner)
      mailbox.post(4)
      assert.deepStrictEqual(processed, [2])
    })
  )
})
