import { assert, describe, it } from "@effect/vitest"
import { initial } from "@corral/domain/run/RunState"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeIdleClocks } from "../../src/run/actor/IdleClocks.ts"
import type { RunMessage } from "../../src/run/kernel/RunMessage.ts"
import { newRunId, runOf } from "../Samples.ts"

const SETTLE = 10_000
const settling = { idleTurn: 1, isBackground: true, isSettling: true }

const makeClocks = Effect.gen(function* () {
  const posted: Array<RunMessage["_tag"]> = []
  const session = {
    options: {
      recorder: { run: runOf(newRunId()), state: initial },
      times: { background: 600_000, settle: SETTLE }
    },
    post: ({ _tag }: RunMessage) => posted.push(_tag) > 0
  }
  return { posted, clocks: yield* makeIdleClocks(session, 0) }
})

describe("IdleClocks", () => {
  it.effect("report again that no turn came, if the first report counted for nothing", () =>
    Effect.gen(function* () {
      const { clocks, posted } = yield* makeClocks
      yield* clocks.follow(settling)
      yield* TestClock.adjust(SETTLE)
      assert.deepStrictEqual(posted, ["Settled"])
      yield* clocks.follow(settling)
      yield* TestClock.adjust(SETTLE)
      assert.deepStrictEqual(posted, ["Settled", "Settled"])
    })
  )

  it.effect("give each turn the whole time until the next one is due", () =>
    Effect.gen(function* () {
      const { clocks, posted } = yield* makeClocks
      yield* clocks.follow(settling)
      yield* TestClock.adjust(SETTLE - 1)
      yield* clocks.follow({ ...settling, idleTurn: 2 })
      yield* TestClock.adjust(SETTLE - 1)
      assert.deepStrictEqual(posted, [])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(posted, ["Settled"])
    })
  )

  it.effect("report nothing once the run has no turn due", () =>
    Effect.gen(function* () {
      const { clocks, posted } = yield* makeClocks
      yield* clocks.follow(settling)
      yield* clocks.follow({ ...settling, isSettling: false, isBackground: false })
      yield* TestClock.adjust(SETTLE * 100)
      assert.deepStrictEqual(posted, [])
    })
  )
})
