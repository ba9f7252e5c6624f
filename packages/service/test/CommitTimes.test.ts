import { assert, describe, it } from "@effect/vitest"
import { CommitTimes, slowCommitsProblem } from "@corral/service/CommitTimes"

const START = 1_800_000_000_000

/** Times with a commit per entry, a second apart. */
const timesOf = (...tookMs: ReadonlyArray<number>): CommitTimes => {
  const times = new CommitTimes()
  tookMs.forEach((took, i) => times.note(took, START + i * 1_000))
  return times
}

describe("CommitTimes", () => {
  it("reports nothing without commits", () => assert.isUndefined(new CommitTimes().slow(START)))

  it("reports three slow commits with their number and the slowest", () =>
    assert.deepStrictEqual(timesOf(1, 51, 2, 120.2, 70).slow(START + 5_000), {
      commits: 5,
      slow: 3,
      slowestMs: 121
    }))

  it("ignores commits of 50 ms", () => assert.isUndefined(timesOf(50, 50, 50, 50).slow(START)))

  it("ignores two slow commits", () => assert.isUndefined(timesOf(90, 90).slow(START)))

  it("ignores slow commits that are less than one in a hundred", () => {
    const times = timesOf(90, 90, 90)
    for (let i = 0; i < 297; i++) times.note(1, START)
    assert.isDefined(times.slow(START))
    times.note(1, START)
    assert.isUndefined(times.slow(START))
  })

  it("forgets commits after a minute, also where a slot is used again", () => {
    const times = timesOf(90, 90, 90)
    assert.isDefined(times.slow(START + 59_000))
    assert.isUndefined(times.slow(START + 60_000))
    times.note(1, START + 60_000)
    assert.isUndefined(times.slow(START + 60_000))
  })

  it("shares its memory", () => {
    const times = timesOf(90, 90, 90)
    assert.deepStrictEqual(new CommitTimes(times.memory).slow(START), times.slow(START))
  })

  it("describes slow commits for health", () =>
    assert.deepStrictEqual(slowCommitsProblem("disk", { commits: 12, slow: 3, slowestMs: 80 }, "Do this."), {
      part: "disk",
      message: "Commits are slow: 3 of 12 in the last minute took longer than 50 ms, the slowest 80 ms.",
      hint: "Do this."
    }))
})
