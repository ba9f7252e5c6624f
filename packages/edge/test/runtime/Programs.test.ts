import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { chmodSync, existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Programs, type ProgramQuestion } from "../../src/runtime/Programs.ts"
import { temporaryFolder, writeProgram } from "../Folder.ts"

const timesRun = (log: string): number =>
  existsSync(log) ? readFileSync(log, "utf8").split("\n").length - 1 : 0

/** A program that logs each call, and the question that runs it. */
const requested = (holds: number) =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    const log = join(folder, "log")
    const program = writeProgram(join(folder, "tool"), `echo ran >> ${log}; echo "$KEPT$OTHER"`)
    const question: ProgramQuestion = { program, args: [], pass: ["KEPT"], holds }
    return { question, times: () => timesRun(log) }
  })

const programs = Programs.layer({ PATH: "/usr/bin:/bin", KEPT: "kept", OTHER: "other" })

describe("Programs", () => {
  it.effect("asks again when the answer is too old, and tells the last one meanwhile", () =>
    Effect.gen(function* () {
      const { question, times } = yield* requested(60_000)
      const { ask, lastAnswer } = yield* Programs
      assert.isUndefined(lastAnswer(question))
      assert.strictEqual((yield* ask(question))?.stdout, "kept\n")
      yield* TestClock.adjust("59 seconds")
      yield* ask(question)
      assert.strictEqual(times(), 1)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(lastAnswer(question)?.answer?.stdout, "kept\n")
      yield* ask(question)
      assert.strictEqual(times(), 2)
    }).pipe(Effect.provide(programs))
  )

  it.effect("gives an answer that holds for ever once, and tries again a minute after there was none", () =>
    Effect.gen(function* () {
      const { question, times } = yield* requested(Infinity)
      const { ask } = yield* Programs
      yield* ask(question)
      yield* TestClock.adjust("30 days")
      yield* ask(question)
      assert.strictEqual(times(), 1)

      // Not executable yet; to become so changes nothing by which a file is known.
      chmodSync(question.program, 0o644)
      const silent: ProgramQuestion = { ...question, args: ["again"] }
      assert.isUndefined(yield* ask(silent))
      chmodSync(question.program, 0o755)
      assert.isUndefined(yield* ask(silent))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* ask(silent))?.stdout, "kept\n")
    }).pipe(Effect.provide(programs))
  )

  it.effect("continues a question for the other callers when one is interrupted", () =>
    Effect.gen(function* () {
      const { question, times } = yield* requested(Infinity)
      const { ask } = yield* Programs
      const impatient = yield* Effect.forkChild(ask(question), { startImmediately: true })
      yield* Fiber.interrupt(impatient)
      assert.strictEqual((yield* ask(question))?.stdout, "kept\n")
      assert.strictEqual(times(), 1)
    }).pipe(Effect.provide(programs))
  )
})
