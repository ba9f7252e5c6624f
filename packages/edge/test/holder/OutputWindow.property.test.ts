/** Output of a run in the holder, to a reader with a window: what is under way, and that all of it arrives. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { join } from "node:path"
import { HeldOutput } from "../../src/holder/HeldOutput.ts"
import { openFolder } from "../Folder.ts"

const WINDOW = 1_000
/** Longest read of the pipe. */
const CHUNK = 400
/** So much is not sent before the program waits. */
const READ_AHEAD = 32_768

const step = fc.oneof(
  fc.record({ print: fc.integer({ min: 1, max: CHUNK }) }),
  fc.record({ print: fc.integer({ min: 1, max: CHUNK }) }),
  fc.record({ process: fc.integer({ min: 0, max: WINDOW }) }),
  fc.record({ isBlocked: fc.boolean() }),
  fc.record({ readsAgain: fc.constant(true) })
)

/** An output, its program, and the reader that it has now. */
const openOutput = (path: string, maxBytes: number) => {
  const state = { isPaused: false, isBlocked: false, isWhole: true, from: 0 }
  let received: Array<Buffer> = []
  const output = new HeldOutput({
    path,
    maxBytes,
    setPaused: (isPaused) => (state.isPaused = isPaused),
    onIncomplete: () => (state.isWhole = false)
  })
  const bytes = () => received.reduce((sum, each) => sum + each.length, 0)
  const read = (from: number, window?: number) => {
    received = []
    state.from = from
    state.isBlocked = false
    return output.read(from, {
      window,
      sendOutput: (piece) => {
        received.push(Buffer.from(piece))
        return !state.isBlocked
      },
      onAllSent: () => undefined,
      onLost: () => assert.fail("lost")
    })
  }
  return { output, read, state, bytes, received: () => Buffer.concat(received) }
}

let files = 0

describe("HeldOutput with a window", () => {
  it("has at most a window and one read of the pipe under way, and sends all of it in order", () => {
    const folder = openFolder()
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 120 }),
        fc.constantFrom(1_000_000, 3_000),
        (steps, maxBytes) => {
          const { bytes, output, read, received, state } = openOutput(
            join(folder, `${++files}.out`),
            maxBytes
          )
          let printed = ""
          let processed = 0
          assert.isTrue(read(0, WINDOW))
          for (const each of steps) {
            if ("print" in each) {
              // A program that is paused prints nothing that is read.
              if (state.isPaused) continue
              const text = `${printed.length},`.repeat(CHUNK).slice(0, each.print)
              printed += text
              output.push(Buffer.from(text))
            } else if ("process" in each) {
              processed = Math.min(state.from + bytes(), processed + each.process)
              assert.isTrue(output.processed(processed))
            } else if ("isBlocked" in each) {
              state.isBlocked = each.isBlocked
              if (!each.isBlocked) output.drained()
            } else if (state.isWhole) {
              // The next Edge continues with what this one has processed.
              output.detach()
              assert.isTrue(read(processed, WINDOW))
            }
            assert.isAtMost(state.from + bytes() - processed, WINDOW + CHUNK)
          }
          state.isBlocked = false
          output.drained()
          while (processed < printed.length) {
            const before = state.from + bytes()
            assert.isAbove(before, processed, "the reader always gets more")
            processed = before
            assert.isTrue(output.processed(processed))
          }
          assert.strictEqual(received().toString(), printed.slice(state.from))
          assert.isFalse(state.isPaused)
          output.delete()
        }
      ),
      { numRuns: 200 }
    )
  })

  it("makes the program wait once little is not sent, and continue when the reader has processed some", () => {
    const { output, read, state } = openOutput(join(openFolder(), "1.out"), 10_000_000)
    read(0, WINDOW)
    let printed = 0
    while (!state.isPaused && printed < 10_000_000) {
      output.push(Buffer.alloc(CHUNK))
      printed += CHUNK
    }
    assert.isAtMost(printed, WINDOW + READ_AHEAD + 2 * CHUNK)
    for (let at = WINDOW; state.isPaused && at <= printed; at += WINDOW) output.processed(at)
    assert.isFalse(state.isPaused)
    output.delete()
  })

  it("refuses what was not sent, and ignores what is known", () => {
    const { output, read } = openOutput(join(openFolder(), "1.out"), 10_000)
    read(0, WINDOW)
    output.push(Buffer.alloc(100))
    assert.isFalse(output.processed(101))
    assert.isTrue(output.processed(100))
    assert.isTrue(output.processed(50))
    output.delete()
  })

  it("ignores the window while reports wait behind input that the program does not read", () => {
    const { bytes, output, read } = openOutput(join(openFolder(), "1.out"), 10_000_000)
    read(0, WINDOW)
    for (let count = 0; count < 10; count++) output.push(Buffer.alloc(CHUNK))
    assert.isAtMost(bytes(), WINDOW + CHUNK)
    output.setReports(false)
    assert.strictEqual(bytes(), 10 * CHUNK)
    output.setReports(true)
    output.push(Buffer.alloc(CHUNK))
    assert.strictEqual(bytes(), 10 * CHUNK)
    assert.isTrue(output.processed(10 * CHUNK))
    assert.strictEqual(bytes(), 11 * CHUNK)
    output.delete()
  })

  it("sends without a window as much as the connection accepts", () => {
    const { bytes, output, read } = openOutput(join(openFolder(), "1.out"), 10_000_000)
    read(0)
    for (let count = 0; count < 100; count++) output.push(Buffer.alloc(CHUNK))
    assert.strictEqual(bytes(), 100 * CHUNK)
    output.delete()
  })
})
