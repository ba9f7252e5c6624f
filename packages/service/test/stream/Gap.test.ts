import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ReplayGap, withoutGap } from "../../src/stream/LogSource.ts"

const batch = (firstSeq: number, lastSeq: number) => ({ firstSeq, lastSeq })

describe("withoutGap", () => {
  it.effect("returns batches that follow the position", () =>
    Effect.gen(function* () {
      const batches = [batch(4, 6), batch(7, 7), batch(8, 9)]
      assert.deepStrictEqual(yield* withoutGap(batches, 3), batches)
      assert.deepStrictEqual(yield* withoutGap(batches, 5), batches)
      assert.deepStrictEqual(yield* withoutGap([], 3), [])
    })
  )

  it.effect("fails when a single event after the position is missing", () =>
    Effect.gen(function* () {
      assert.instanceOf(yield* Effect.flip(withoutGap([batch(5, 6)], 3)), ReplayGap)
      assert.instanceOf(yield* Effect.flip(withoutGap([batch(2, 6)], 0)), ReplayGap)
    })
  )

  it.effect("returns the batches before a later gap", () =>
    Effect.gen(function* () {
      const batches = [batch(4, 6), batch(8, 9)]
      assert.deepStrictEqual(yield* withoutGap(batches, 3), [batch(4, 6)])
      assert.instanceOf(yield* Effect.flip(withoutGap(batches.slice(1), 6)), ReplayGap)
    })
  )
})
