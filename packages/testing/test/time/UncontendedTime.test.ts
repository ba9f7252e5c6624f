import { assert, describe, it } from "@effect/vitest"
import { UncontendedTime, until, within } from "../../src/time/Until.ts"

/** Works until that much time has passed. */
const pass = (millis: number): void => {
  const startedAt = performance.now()
  while (performance.now() - startedAt < millis);
}

describe("UncontendedTime", () => {
  it("counts all time of a machine on which no task waits", () => {
    const time = new UncontendedTime(() => 0)
    pass(30)
    assert.isAtLeast(time.millis, 30)
  })

  it("counts a part of the time in which tasks wait", () => {
    const startedAt = performance.now()
    const time = new UncontendedTime(() => performance.now())
    pass(80)
    const { millis } = time
    assert.isAbove(millis, 0)
    assert.isBelow(millis, (performance.now() - startedAt) / 4)
  })
})

describe("A limit", () => {
  it("ends what does not come", async () => {
    const never = new Promise<never>(() => undefined)
    const failures = await Promise.allSettled([
      within(never, 20, "it"),
      until(async () => undefined, "it", 20)
    ])
    for (const failure of failures) {
      assert(failure.status === "rejected")
      assert.include(String(failure.reason), "it did not come within 20 ms")
    }
  })
})
