import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Logger } from "effect"
import * as fc from "fast-check"
import { makePaint } from "../../src/terminal/Rows.ts"
import { terminalLogger } from "../../src/terminal/TerminalLogger.ts"

const written = (log: Effect.Effect<void>) => {
  const texts: Array<string> = []
  const logger = terminalLogger(makePaint(false), (text) => texts.push(text))
  return Effect.as(Effect.provide(log, Logger.layer([logger])), texts)
}

describe("terminalLogger", () => {
  it.effect.each([
    ["a warning", Effect.logWarning("The store is slow."), ["\r\u001b[2Kwarning: The store is slow.\n"]],
    [
      "an error with its reason",
      Effect.logError("failed to read", { id: 1 }, new Error("no such file\nat a place")),
      ["\r\u001b[2Kerror: failed to read (id 1): Error: no such file\n"]
    ],
    [
      "the reason and what to do as sentences",
      Effect.logWarning("workspaces were left out", {
        problem: "It is missing.",
        hint: "Install it.",
        runs: 2
      }),
      ["\r\u001b[2Kwarning: workspaces were left out (runs 2): It is missing. Install it.\n"]
    ],
    [
      "data in data as words",
      Effect.logWarning("refused files", { run: "run_1", files: [{ path: "a", size: 1 }, "b"] }),
      ["\r\u001b[2Kwarning: refused files (run run_1, files path a, size 1, b)\n"]
    ],
    ["control characters", Effect.logWarning("a\u001b[2Jb"), ["\r\u001b[2Kwarning: a␛[2Jb\n"]],
    ["nothing that a command says itself", Effect.logWarning("runs are not confined", { hint: "x" }), []],
    ["no information", Effect.logInfo("linked to the Hub"), []]
  ] as const)("writes %s", ([, log, expected]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* written(log), [...expected])
    })
  )

  it("writes one line without JSON and stack traces for any data and cause", () => {
    const names = ["cause", "problem", "hint", "runId", "position", "data"]
    const data = fc.object({ maxDepth: 4, key: fc.constantFrom(...names) })
    const failures = fc.constantFrom("no such file\n    at read (a.js:1:2)", "x", "", "\n\na")
    return fc.assert(
      fc.asyncProperty(
        fc.array(data, { maxLength: 2 }),
        fc.array(failures, { maxLength: 1 }),
        (all, failed) =>
          Effect.gen(function* () {
            const causes = failed.map((message) => Cause.fail(new Error(message)))
            const texts = yield* written(Effect.logError("failed to read", ...all, ...causes))
            assert.lengthOf(texts, 1)
            const line = (texts[0] ?? "").replace("\r\u001b[2K", "")
            assert.match(line, /^error: failed to read[^\n]*\n$/)
            assert.notMatch(line, /"(?:cause|problem|hint|runId|position|data)":|\[object| {4}at /)
          }).pipe(Effect.runPromise)
      )
    )
  })
})
