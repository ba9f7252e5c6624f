import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { makePaint } from "../../src/terminal/Paint.ts"
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
      ['\r\u001b[2Kerror: failed to read {"id":1} Error: no such file\n']
    ],
    ["control characters", Effect.logWarning("a\u001b[2Jb"), ["\r\u001b[2Kwarning: a␛[2Jb\n"]],
    ["no information", Effect.logInfo("linked to the Hub"), []]
  ] as const)("writes %s", ([, log, expected]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* written(log), [...expected])
    })
  )
})
