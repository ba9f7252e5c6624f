import { assert, describe, it } from "@effect/vitest"
import { formatDuration } from "../../src/text/Duration.ts"

describe("formatDuration", () => {
  it.each([
    [-5, "1s", "1 秒"],
    [900, "1s", "1 秒"],
    [59_400, "59s", "59 秒"],
    [130_000, "2m 10s", "2 分 10 秒"],
    [3_900_000, "1h 5m", "1 小时 5 分"],
    [93_600_000, "26h 0m", "26 小时 0 分"]
  ])("formats %i ms", (ms, en, zh) => {
    assert.deepStrictEqual([formatDuration(ms, "en"), formatDuration(ms, "zh")], [en, zh])
  })
})
