import { assert, describe, it } from "@effect/vitest"
import { type HeldClocks, RunTimeLimits } from "../../src/run/actor/RunSession.ts"
import { newRunId, runOf } from "../Samples.ts"

const CREATED = Date.parse("2026-11-01T00:00:00.000Z")
const run = { ...runOf(newRunId()), createdAt: new Date(CREATED).toISOString() }

const active: HeldClocks = { isPaused: false, background: undefined }
const paused: HeldClocks = { isPaused: true, background: undefined }
const limitedTo = (at: number, applied: number): HeldClocks => ({
  isPaused: false,
  background: { at, applied }
})

describe("RunTimeLimits", () => {
  it("ends a run at the cap, and at the end of its time budget if it has one", () => {
    assert.deepStrictEqual(new RunTimeLimits(run, 5_000).start(CREATED + 100, 0), { cap: CREATED + 5_000 })
    const limits = new RunTimeLimits({ ...run, budget: { wallMs: 1_000 } }, 5_000)
    assert.deepStrictEqual(limits.start(CREATED + 100, 300), { cap: CREATED + 5_000, wall: CREATED + 800 })
  })

  it("moves the end of the time budget by each pause, and not the cap", () => {
    const limits = new RunTimeLimits({ ...run, budget: { wallMs: 1_000 } }, 5_000)
    limits.start(CREATED, 0)
    assert.isFalse(limits.follow(active, CREATED + 10))
    assert.isTrue(limits.follow(paused, CREATED + 100))
    assert.deepStrictEqual(limits.until, { cap: CREATED + 5_000 })
    assert.isFalse(limits.follow(paused, CREATED + 200))
    assert.isTrue(limits.follow(active, CREATED + 400))
    assert.deepStrictEqual(limits.until, { cap: CREATED + 5_000, wall: CREATED + 1_300 })
  })

  it("ends background work at its own time, until it is no longer limited", () => {
    const limits = new RunTimeLimits(run, 5_000)
    limits.start(CREATED, 0)
    assert.isTrue(limits.follow(limitedTo(CREATED + 700, 10), CREATED))
    assert.isFalse(limits.follow(limitedTo(CREATED + 700, 10), CREATED))
    assert.deepStrictEqual(limits.until, { cap: CREATED + 5_000, background: CREATED + 700, applied: 10 })
    assert.isTrue(limits.follow(limitedTo(CREATED + 700, 12), CREATED), "the program has printed more")
    assert.isTrue(limits.follow(active, CREATED))
    assert.isFalse(limits.follow(active, CREATED))
    assert.deepStrictEqual(limits.until, { cap: CREATED + 5_000 })
  })

  it("changes nothing of a run without a time budget", () => {
    const limits = new RunTimeLimits(run, 5_000)
    limits.start(CREATED, 0)
    assert.isFalse(limits.follow(paused, CREATED + 100))
  })

  it("continues at once with the clocks of an adopted run", () => {
    const limits = () => new RunTimeLimits({ ...run, budget: { wallMs: 1_000 } }, 5_000)
    assert.deepStrictEqual(limits().start(CREATED, 300, paused), { cap: CREATED + 5_000 })
    assert.deepStrictEqual(limits().start(CREATED, 300, limitedTo(CREATED + 500, 10)), {
      cap: CREATED + 5_000,
      wall: CREATED + 700,
      background: CREATED + 500,
      applied: 10
    })
  })
})
