import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Host } from "../../src/terminal/Host.ts"
import { withProgress } from "../../src/terminal/Progress.ts"
import { testHost } from "./TestHost.ts"

/** What stands on a stderr of that width after a while of waiting, and how it ends. */
const outputOf = Effect.fnUntraced(function* (columns: number | undefined, what: string) {
  const warned: Array<string> = []
  const host = testHost({
    terminal: true,
    live: true,
    columns,
    interactive: true,
    colours: true,
    warn: (text) => void warned.push(text)
  })
  const fiber = yield* Effect.forkChild(
    withProgress(what)(Effect.sleep("3 seconds")).pipe(Effect.provideService(Host, host))
  )
  yield* TestClock.adjust("3 seconds")
  yield* Fiber.join(fiber)
  return warned
})

describe("waiting", () => {
  it.effect("says what is waited for and for how long, and leaves nothing", () =>
    Effect.gen(function* () {
      const warned = yield* outputOf(80, "waiting for laptop")
      assert.include(warned.at(-2), "waiting for laptop · 3 s")
      assert.strictEqual(warned.at(-1), "\r\u001b[2K")
    })
  )

  it.effect("stays on one line of a narrow terminal", () =>
    Effect.gen(function* () {
      const warned = yield* outputOf(40, `waiting for ${"x".repeat(100)}, which is offline`)
      for (const text of warned) {
        // oxlint-disable-next-line no-control-regex
        assert.isBelow(text.replaceAll(/\r|\u001b\[\d*[a-zA-Z]/g, "").length, 40)
      }
      assert.match(warned.at(-2) ?? "", /waiting for x+… · 3 s/)
    })
  )

  it.effect("stays on one line where characters are two columns wide, and breaks none", () =>
    Effect.gen(function* () {
      const warned = yield* outputOf(40, `waiting for ${"机器🐎".repeat(20)}`)
      const [, shown = ""] = /(waiting.*)/u.exec(warned.at(-2) ?? "") ?? []
      const name = shown.slice("waiting for ".length, shown.indexOf("…"))
      assert.isAtMost("⠋ waiting for … · 3 s".length + 2 * [...name].length, 39)
      assert.match(name, /^(机|器|🐎)+$/u)
    })
  )

  it.effect("says nothing where no line can be rewritten", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* outputOf(undefined, "waiting"), [])
    })
  )
})
