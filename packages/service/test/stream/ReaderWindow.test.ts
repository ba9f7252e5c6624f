import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { READER_WINDOW, ReaderWindow, SLOW_AFTER_MS } from "../../src/stream/ReaderWindow.ts"

/** A window with a clock that the test moves, and the positions that the reader was asked to confirm. */
const openWindow = () => {
  const pings: Array<Buffer> = []
  const clock = { now: 1_000 }
  const window = new ReaderWindow(() => clock.now)
  const count = (bytes: number): void => {
    const position = window.count(bytes)
    if (position !== undefined) pings.push(position)
  }
  return { clock, count, pings, window }
}

const half = READER_WINDOW / 2

describe("ReaderWindow", () => {
  it("asks once per half a window, and is full at a whole one", () => {
    const { count, pings, window } = openWindow()
    count(half - 1)
    assert.strictEqual(pings.length, 0)
    count(1)
    assert.deepStrictEqual([pings.length, window.state], [1, "room"])
    count(half)
    assert.deepStrictEqual([pings.length, window.state], [2, "full"])
  })

  it("has room again when the reader confirms, and calls back once", () => {
    const { count, pings, window } = openWindow()
    let calls = 0
    window.onRoom = () => calls++
    count(half)
    count(half)
    for (const position of pings) window.confirm(position)
    assert.deepStrictEqual([window.state, calls], ["room", 1])
  })

  it("is slow after a time without progress, until the reader confirms again", () => {
    const { clock, count, pings, window } = openWindow()
    count(2 * READER_WINDOW)
    clock.now += SLOW_AFTER_MS - 1
    assert.strictEqual(window.state, "full")
    clock.now += 1
    assert.strictEqual(window.state, "slow")
    count(READER_WINDOW)
    assert.strictEqual(window.state, "slow", "what is sent is no progress")
    window.confirm(pings[0] ?? Buffer.alloc(0))
    assert.strictEqual(window.state, "full", "one window is still under way")
  })

  it("confirms only positions that were requested, for any answers of a client", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.nat(3 * READER_WINDOW), fc.uint8Array({ maxLength: 125 })), { maxLength: 40 }),
        (steps) => {
          const { count, pings, window } = openWindow()
          let sent = 0
          let confirmed = 0
          for (const step of steps) {
            if (typeof step === "number") {
              sent += step
              count(step)
            } else {
              const payload = Buffer.from(step)
              window.confirm(payload)
              const position = payload.length === 6 ? payload.readUIntBE(0, 6) : 0
              const newest = pings.at(-1)?.readUIntBE(0, 6) ?? 0
              if (position > confirmed && position <= newest) confirmed = position
            }
            assert.strictEqual(window.state !== "room", sent - confirmed >= READER_WINDOW)
            assert.isAtMost(pings.length, sent / half)
          }
        }
      ),
      { numRuns: 300 }
    )
  })
})
