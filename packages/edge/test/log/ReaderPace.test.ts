/** Programs that wait for readers, with real windows, in a time that the test moves. */
import type { RunId } from "@corral/domain/identity/Ids"
import { READER_WINDOW, ReaderWindow, SLOW_AFTER_MS } from "@corral/service/stream/ReaderWindow"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { BatchFollowers, ReaderPace } from "../../src/log/EdgeEventLog.ts"
import type { StoredBatch } from "../../src/log/StoredEvents.ts"

const runId = "run_1" as RunId

/** Time in which callbacks wait. */
class Timeline {
  now = 1_000
  readonly #waiting: Array<{ readonly at: number; readonly call: () => void }> = []

  readonly later = (millis: number, call: () => void): void =>
    void this.#waiting.push({ at: this.now + millis, call })

  pass(millis: number): void {
    const end = this.now + millis
    for (;;) {
      const next = this.#waiting.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0]
      if (next === undefined) break
      this.#waiting.splice(this.#waiting.indexOf(next), 1)
      this.now = next.at
      next.call()
    }
    this.now = end
  }
}

/** A reader whose bytes and pings wait in its socket until it reads them. */
class SimulatedReader {
  readonly window: ReaderWindow
  readonly answersPings: boolean
  readonly received: Array<number> = []
  #unread = 0
  #sent = 0
  readonly #pings: Array<{ readonly at: number; readonly position: Buffer }> = []

  constructor({ now, answersPings = true }: { readonly now: () => number; readonly answersPings?: boolean }) {
    this.answersPings = answersPings
    this.window = new ReaderWindow(now)
  }

  get unread(): number {
    return this.#unread
  }

  receive({ firstSeq, lines }: StoredBatch): void {
    this.received.push(firstSeq)
    this.#unread += lines.length
    this.#sent += lines.length
    const position = this.window.count(lines.length)
    if (position !== undefined) this.#pings.push({ at: this.#sent, position })
  }

  read(bytes: number): void {
    this.#unread = Math.max(0, this.#unread - bytes)
    while (this.#pings[0] !== undefined && this.#pings[0].at <= this.#sent - this.#unread) {
      const ping = this.#pings.shift()
      if (ping !== undefined && this.answersPings) this.window.confirm(ping.position)
    }
  }
}

/** A program that always has more, and its run. */
const openRun = (readers: ReadonlyArray<SimulatedReader>, timeline: Timeline) => {
  const followers = new BatchFollowers(() => undefined)
  const pace = new ReaderPace({ followers, later: timeline.later })
  const unfollow = readers.map((reader) => followers.follow(runId, reader))
  const program = { seq: 0, waits: false, resumed: 0 }
  const resume = () => {
    program.resumed++
    program.waits = pace.mustWait(runId, resume)
  }
  /** Prints a batch of that size, unless it waits. */
  const print = (size: number): boolean => {
    if (program.waits) return false
    const seq = ++program.seq
    followers.publish({
      batch: 0,
      runId,
      firstSeq: seq,
      lastSeq: seq,
      lines: "x".repeat(size),
      terminal: false
    })
    program.waits = pace.mustWait(runId, resume)
    return true
  }
  return { followers, print, program, unfollow }
}

const LARGEST = READER_WINDOW / 4
const size = fc.integer({ min: 1, max: LARGEST })
const prints = (print: (bytes: number) => boolean, bytes = LARGEST): number => {
  let count = 0
  while (count < 1_000 && print(bytes)) count++
  return count
}

describe("ReaderPace", () => {
  it("lets a program print without readers, and to readers without a window", () => {
    const timeline = new Timeline()
    const { followers, print } = openRun([], timeline)
    assert.strictEqual(prints(print), 1_000)
    followers.follow(runId, { receive: () => undefined })
    followers.follow(runId, new SimulatedReader({ now: () => timeline.now }))
    assert.strictEqual(prints(print), 1_000)
  })

  it("lets a program print while a reader of all runs follows", () => {
    const timeline = new Timeline()
    const { followers, print } = openRun([new SimulatedReader({ now: () => timeline.now })], timeline)
    followers.follow(undefined, { receive: () => undefined })
    assert.strictEqual(prints(print), 1_000)
  })

  it("holds the program while its only reader is full, and continues when the reader reads", () => {
    const timeline = new Timeline()
    const reader = new SimulatedReader({ now: () => timeline.now })
    const { print, program } = openRun([reader], timeline)
    assert.strictEqual(prints(print), READER_WINDOW / LARGEST)
    reader.read(READER_WINDOW)
    assert.isFalse(program.waits)
    assert.strictEqual(program.resumed, 1)
    assert.isTrue(print(1))
  })

  it("holds the program for a reader that stops, or answers no ping, once and for a limited time", () => {
    for (const answersPings of [true, false]) {
      const timeline = new Timeline()
      const reader = new SimulatedReader({ now: () => timeline.now, answersPings })
      const { print, program } = openRun([reader], timeline)
      prints(print)
      assert.isTrue(program.waits)
      timeline.pass(SLOW_AFTER_MS + 50)
      assert.isFalse(program.waits)
      assert.strictEqual(prints(print), 1_000)
      if (!answersPings) reader.read(Infinity)
      assert.strictEqual(prints(print), 1_000)
    }
  })

  it("continues when the reader has left", () => {
    const timeline = new Timeline()
    const { print, program, unfollow } = openRun([new SimulatedReader({ now: () => timeline.now })], timeline)
    prints(print)
    unfollow[0]?.()
    timeline.pass(50)
    assert.isFalse(program.waits)
  })

  it("has at most a window and a batch under way to a reader that reads", () => {
    // Each turn confirms something: a ping comes once per half a window, after a whole batch.
    const reads = fc.integer({ min: READER_WINDOW / 2 + LARGEST, max: READER_WINDOW })
    fc.assert(
      fc.property(
        fc.array(fc.tuple(size, reads, fc.nat(SLOW_AFTER_MS - 1)), { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 1, max: 4 }),
        (turns, count) => {
          const timeline = new Timeline()
          const readers = Array.from(
            { length: count },
            () => new SimulatedReader({ now: () => timeline.now })
          )
          const { print, program } = openRun(readers, timeline)
          for (const [bytes, read, millis] of turns) {
            // 1,000 batches of a small size may be less than a window.
            assert.strictEqual(prints(print, bytes) < 1_000, program.waits)
            timeline.pass(millis)
            for (const { unread } of readers) assert.isAtMost(unread, READER_WINDOW + LARGEST)
            for (const reader of readers) reader.read(read)
          }
        }
      ),
      { numRuns: 100 }
    )
  })

  it("delivers to all readers in order, and holds no program for good", () => {
    const step = fc.oneof(
      fc.record({ print: size }),
      fc.record({ read: fc.integer({ min: 0, max: READER_WINDOW }), reader: fc.nat(3) }),
      fc.record({ pass: fc.integer({ min: 1, max: 100 }) })
    )
    fc.assert(
      fc.property(
        fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }),
        fc.array(step, { maxLength: 300 }),
        (answers, steps) => {
          const timeline = new Timeline()
          const readers = answers.map(
            (answersPings) => new SimulatedReader({ now: () => timeline.now, answersPings })
          )
          const { print, program } = openRun(readers, timeline)
          for (const each of steps) {
            if ("print" in each) print(each.print)
            else if ("pass" in each) timeline.pass(each.pass)
            else readers[each.reader]?.read(each.read)
            if (readers.some(({ window }) => window.state === "room")) assert.isFalse(program.waits)
          }
          timeline.pass(SLOW_AFTER_MS + 50)
          assert.isFalse(program.waits)
          const all = Array.from({ length: program.seq }, (_, i) => i + 1)
          for (const { received } of readers) assert.deepStrictEqual(received, all)
        }
      ),
      { numRuns: 150 }
    )
  })
})
