/** Members decide while accounts that are not linked send a thousand messages: on a machine that does nothing else. */
import { assert, describe, it } from "@effect/vitest"
import { flooded, type FloodOptions } from "./Flood.ts"

const floods: ReadonlyArray<readonly [name: string, options: FloodOptions]> = [
  ["1,000 messages of one account", { strangers: 1, messages: 1_000, clicks: 0, taps: 12 }],
  ["100 clicks of one account on the same cards", { strangers: 1, messages: 100, clicks: 100, taps: 8 }],
  ["1,000 messages of 20 accounts", { strangers: 20, messages: 1_000, clicks: 0, taps: 12 }]
]

describe("a flood in a group", { timeout: 600_000 }, () => {
  it.each(floods)("executes members' taps in under 3 s during %s", async (name, options) => {
    const { answers, executed, floodMillis, shown } = await flooded(options)
    console.log(
      `${name}, in ${floodMillis} ms: taps executed in at most ${Math.max(...executed)} ms, shown in at most ` +
        `${Math.max(...shown)} ms (${executed.join(", ")}); at most ${Math.max(...answers)} answers per account`
    )
    assert.isBelow(Math.max(...executed), 3_000)
    assert.isAtMost(Math.max(...answers), 10)
  })
})
