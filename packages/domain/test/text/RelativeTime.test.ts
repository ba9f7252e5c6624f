import { assert, describe, it } from "@effect/vitest"
import { formatRelativeTime } from "../../src/text/RelativeTime.ts"

describe("formatRelativeTime", () => {
  it("uses the largest unit that fits, past and future, in both languages", () => {
    const now = Date.parse("2026-06-09T12:00:00Z")
    const relativeTime = (seconds: number, language: "en" | "zh" = "en") =>
      formatRelativeTime(now + seconds * 1_000, now, language)
    assert.deepStrictEqual(
      [0, -59, -60, -3_599, -3_600, -86_400, 90].map((seconds) => relativeTime(seconds)),
      ["just now", "just now", "1 min. ago", "59 min. ago", "1 hr. ago", "yesterday", "in 1 min."]
    )
    assert.strictEqual(relativeTime(-400 * 86_400), "last yr.")
    assert.strictEqual(relativeTime(-120, "zh"), "2 分钟前")
    assert.strictEqual(relativeTime(-59, "zh"), "刚刚")
    assert.strictEqual(relativeTime(-86_400, "zh"), "昨天")
  })
})
