import { assert, describe, it } from "@effect/vitest"
import { tries } from "@corral/testing/time/Effort"
import { Effect, Schema } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { agrees, type ClockPair, TrustedClock } from "../../src/retention/Retention.ts"
import { temporaryFolder } from "../Folder.ts"

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** What happens between two readings: time passes, the clock is set, the machine or the Edge starts again. */
const Step = Schema.Struct({
  passed: Schema.Literals([0, 60_000, HOUR / 2, HOUR, 5 * HOUR, 3 * DAY]),
  isOff: Schema.Boolean,
  jump: Schema.Literals([0, 0, 0, 5_000, -5_000, 2 * DAY, 60 * DAY, -60 * DAY, 4_000 * DAY]),
  restart: Schema.Literals(["no", "no", "edge", "machine"])
})

describe("TrustedClock", () => {
  it.effect.prop(
    "trusts no clock that was set by more than a day within the last hour of this process, after the last start",
    [Schema.Array(Step).check(Schema.isMinLength(1), Schema.isMaxLength(12))],
    ([steps]) =>
      Effect.gen(function* () {
        const home = yield* temporaryFolder
        let now: ClockPair = { wall: 1_800_000_000_000, sinceBoot: 10_000, boot: "0" }
        let clock = new TrustedClock(home, now)
        /** Readings of this process, and the last of the one before. */
        let readings = [now]
        let stored: ClockPair | undefined
        for (const [n, { isOff, jump, passed, restart }] of steps.entries()) {
          const isBoot = restart === "machine"
          now = {
            wall: now.wall + passed + jump,
            sinceBoot: isBoot ? (isOff ? 20_000 : passed) : now.sinceBoot + passed,
            boot: isBoot ? String(n + 1) : now.boot
          }
          if (restart !== "no") {
            stored = readings.at(-1)
            clock = new TrustedClock(home, now)
            readings = [now]
          }
          const isTrusted = clock.isTrusted(now)
          readings.push(now)
          const [first = now] = readings
          const wasProven = now.sinceBoot - first.sinceBoot >= HOUR
          if (wasProven && jump === 0 && Math.abs(now.wall - first.wall) < DAY) assert.isTrue(isTrusted)
          if (isTrusted && !wasProven) assert.isTrue(stored !== undefined && agrees(stored, now))
          if (restart !== "no" && Math.abs(jump) > DAY) assert.isFalse(isTrusted, JSON.stringify(steps))
        }
      }).pipe(Effect.scoped),
    tries(200)
  )

  it.effect("waits for an hour without a reading that it understands, or a home that it can write", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      writeFileSync(join(folder, "clock.json"), "{")
      for (const home of [folder, "/nowhere"]) {
        const first: ClockPair = { wall: 1_800_000_000_000, sinceBoot: 0, boot: undefined }
        const clock = new TrustedClock(home, first)
        assert.isFalse(clock.isTrusted({ ...first, sinceBoot: HOUR - 1 }))
      }
    })
  )

  it("accepts a week in which the machine ran, and none in which it was off", () => {
    const earlier: ClockPair = { wall: 1_800_000_000_000, sinceBoot: 5_000, boot: "a" }
    const later = { wall: earlier.wall + 7 * DAY, sinceBoot: 7 * DAY + 5_000 }
    assert.isTrue(agrees(earlier, { ...later, boot: "a" }))
    assert.isTrue(agrees(earlier, { ...later, boot: "b" }))
    assert.isFalse(agrees(earlier, { ...later, sinceBoot: HOUR, boot: "b" }))
    assert.isFalse(agrees(earlier, { ...later, sinceBoot: HOUR, boot: "a" }))
  })
})
