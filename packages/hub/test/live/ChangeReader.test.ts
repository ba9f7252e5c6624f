import { SSE_COMMENT } from "@corral/service/stream/ServerSentEvents"
import { assert, describe, it } from "@effect/vitest"
import type { ChangeHint } from "@corral/domain/hub-api/ChangeHint"
import type { ProjectId, RunId, TaskId, UserId } from "@corral/domain/identity/Ids"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { ChangeReader } from "../../src/live/ChangeFeed.ts"

const run = (n: number, state: "running" | "completed" = "running", project = "prj_1"): ChangeHint => ({
  kind: "run",
  id: `run_${n}` as RunId,
  projectId: project as ProjectId,
  state
})

const open = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const ends: Array<number> = []
  const now = () => clock.currentTimeMillisUnsafe()
  const reader = yield* ChangeReader.make("usr_1" as UserId, now, () => void ends.push(now()))
  return { reader, ends }
})

describe("ChangeReader", () => {
  it.effect("gives what waits, the last of each thing alone", () =>
    Effect.gen(function* () {
      const { reader } = yield* open
      for (const hint of [run(1), run(2), run(1, "completed")]) reader.add(hint)
      assert.strictEqual(
        yield* reader.next,
        [run(1, "completed"), run(2)].map((hint) => `data: ${JSON.stringify(hint)}\n\n`).join("")
      )
    })
  )

  it.effect("says nothing every 20 s while there is nothing", () =>
    Effect.gen(function* () {
      const { reader } = yield* open
      const next = yield* Effect.forkChild(reader.next)
      yield* TestClock.adjust("20 seconds")
      assert.strictEqual(yield* Fiber.join(next), SSE_COMMENT)
      const woken = yield* Effect.forkChild(reader.next)
      yield* Effect.yieldNow
      reader.add(run(1))
      assert.include(yield* Fiber.join(woken), "run_1")
    })
  )

  it.effect("is ended when it takes nothing for 30 s, and not while it waits for something", () =>
    Effect.gen(function* () {
      const { ends, reader } = yield* open
      const waits = yield* Effect.forkChild(reader.next)
      yield* Effect.yieldNow
      yield* TestClock.adjust("19 seconds")
      reader.add(run(1))
      yield* Fiber.join(waits)
      yield* TestClock.adjust("30 seconds")
      reader.tick()
      assert.deepStrictEqual(ends, [])
      yield* TestClock.adjust("1 millis")
      reader.tick()
      reader.tick()
      assert.deepStrictEqual(ends, [49_001])
    })
  )

  it.effect("is ended when more waits than it may cost", () =>
    Effect.gen(function* () {
      const { ends, reader } = yield* open
      for (let i = 0; i < 10_000; i++) reader.add(run(i))
      for (let i = 0; i < 10_000; i++) reader.add(run(i, "completed"))
      assert.deepStrictEqual(ends, [])
      reader.add(run(10_000))
      assert.deepStrictEqual(ends, [0])
    })
  )

  it.effect("gives back what waits of a project", () =>
    Effect.gen(function* () {
      const { reader } = yield* open
      const other: ChangeHint = {
        kind: "task",
        id: "tsk_1" as TaskId,
        projectId: "prj_2" as ProjectId,
        state: "queued"
      }
      for (const hint of [run(1), other]) reader.add(hint)
      assert.deepStrictEqual(reader.withdraw("prj_1" as ProjectId), [run(1)])
      assert.strictEqual(yield* reader.next, `data: ${JSON.stringify(other)}\n\n`)
    })
  )
})
