import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Queue } from "effect"
import { promptInput } from "../../src/question/AnswerDraft.ts"
import { testHost } from "../terminal/TestHost.ts"
import { requestOf, colour, token, tools } from "./Questions.ts"

/** A terminal: output goes to a queue; typed lines go to the reader, shown or hidden. */
const terminal = Effect.gen(function* () {
  const written = yield* Queue.unbounded<string>()
  let listener: { readonly isHidden: boolean; readonly notify: (line: string) => void } | undefined
  const subscribe = (isHidden: boolean) => (notify: (line: string) => void) => {
    listener = { isHidden, notify }
    return () => void (listener = undefined)
  }
  const host = testHost({
    interactive: true,
    write: (text) => void Queue.offerUnsafe(written, text),
    onLine: subscribe(false),
    onSecret: subscribe(true)
  })
  return {
    host,
    written,
    type: (line: string) => listener?.notify(line),
    isHidden: () => listener?.isHidden
  }
})

describe("promptInput", () => {
  it.effect("asks again after a line that does not fit, and hides a secret", () =>
    Effect.gen(function* () {
      const { host, isHidden, type, written } = yield* terminal
      const prompt = promptInput(host, requestOf(colour, tools, token), "ask")
      const answering = yield* Effect.forkChild(prompt, { startImmediately: true })
      assert.include(yield* Queue.take(written), "(1 of 3) Number from 1 to 2")
      type("9")
      assert.include(yield* Queue.take(written), "There is no such option.")
      type("1")
      assert.include(yield* Queue.take(written), "1. Lint")
      type("1,4")
      assert.include(yield* Queue.take(written), "Write your answer")
      assert.isFalse(isHidden())
      type("docs")
      assert.include(yield* Queue.take(written), "Secret, not shown")
      assert.isTrue(isHidden())
      type("s3cret")
      assert.deepStrictEqual(yield* Fiber.join(answering), {
        answers: { colour: "red", tools: ["a", { other: "docs" }], token: "s3cret" }
      })
      assert.isUndefined(isHidden())
    })
  )

  it.effect("stops reading when it is withdrawn", () =>
    Effect.gen(function* () {
      const { host, isHidden, type, written } = yield* terminal
      const prompt = promptInput(host, requestOf(token), "ask")
      const answering = yield* Effect.forkChild(prompt, { startImmediately: true })
      yield* Queue.take(written)
      yield* Fiber.interrupt(answering)
      assert.isUndefined(isHidden())
      type("late")
      assert.strictEqual(yield* Queue.take(written), "\n")
    })
  )
})
