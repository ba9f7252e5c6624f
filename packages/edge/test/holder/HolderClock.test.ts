import { survivors } from "@corral/testing/edge/Survivors"
import { until } from "@corral/testing/time/Until"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync } from "node:fs"
import { adoptRun, newRun, type RecordedRun, startShell } from "./HeldCase.ts"
import {
  connectEdge,
  holdersOf,
  isRunning,
  openHome,
  outputFile,
  storedOutput,
  untilGone
} from "./HolderHome.ts"
import { holderPlaceOf } from "../../src/holder/HolderPlace.ts"

/** A program with children that try to escape: another session, no marks, no parent. */
const ESCAPING = `
(setsid sh -c 'sleep 600' &) ; (env -i sleep 600 &) ; trap '' INT TERM HUP; echo begin; while :; do sleep 1; done`

const untilNone = (...runs: ReadonlyArray<RecordedRun>): Promise<true> => {
  const ids = new Set(runs.map(({ id }) => id))
  return until(async () => (survivors(undefined, ids).length === 0 ? true : undefined), "the end of the runs")
}

/** Waits for the end without an Edge that would stop the clock. */
const untilRunGone = ({ child }: RecordedRun): Promise<true> => untilGone(child.pid ?? 0)

describe("the clock of the holder", () => {
  it("ends all runs, their stored output and the holder when no Edge returns in time", async () => {
    const home = openHome()
    const edge = await connectEdge({ home, orphanMs: 300 })
    const runs = [await startShell(edge, ESCAPING), await startShell(edge, "echo begin; exec sleep 600")]
    for (const { record } of runs) await record.received(6)
    const [holder = 0] = holdersOf(home)
    await edge.close()
    await untilGone(holder)
    await untilNone(...runs)
    assert.deepStrictEqual(storedOutput(home), [])
    assert.isFalse(existsSync(holderPlaceOf(home).socket))
  })

  it("starts again with each Edge", async () => {
    const home = openHome()
    const first = await connectEdge({ home, orphanMs: 600_000 })
    const run = await startShell(first, "read line; exit 7")
    await first.close()
    const second = await connectEdge({ home, orphanMs: 300 })
    assert.deepStrictEqual(
      second.holder.found.map(({ id, pid }) => [id, pid]),
      [[run.id, run.child.pid]]
    )
    const [holder = 0] = holdersOf(home)
    await second.close()
    await untilGone(holder)
    await untilRunGone(run)
  })

  it.each(["wall", "cap", "background"] as const)(
    "ends a run whose %s time is over, and says so to the next Edge",
    async (by) => {
      const home = openHome()
      const edge = await connectEdge({ home })
      const ending = await startShell(edge, ESCAPING, {
        // The first line of the program is applied.
        limits: { until: { [by]: Date.now() + 300, applied: 6 } }
      })
      const other = await startShell(edge, "echo begin; read line", {
        limits: { until: { wall: Date.now() + 600_000, cap: Date.now() + 500_000 } }
      })
      await ending.record.received(6)
      await other.record.received(6)
      await edge.close()
      await untilRunGone(ending)
      await untilNone(ending)
      assert.isTrue(isRunning(other.child.pid ?? 0))
      const next = await connectEdge({ home })
      const adopted = await adoptRun(next, ending.id)
      const { code, signal } = await adopted.record.ended.promise
      assert.deepStrictEqual([code, signal], [null, "SIGKILL"])
      assert.strictEqual(adopted.child.endedBy, by)
      assert.strictEqual(adopted.record.output.toString(), "begin\n")
      await Effect.runPromise(adopted.connection.end)
      assert.deepStrictEqual(storedOutput(home), [`${other.id}.out`])
    }
  )

  it("leaves background work that has printed more than its Edge had applied to the next Edge", async () => {
    const home = openHome()
    const edge = await connectEdge({ home })
    const silent = await startShell(edge, "echo begin; read line", {
      limits: { until: { background: 1, applied: 6 } }
    })
    const turning = await startShell(edge, "echo begin; read line; echo turn; read line", {
      limits: { until: { background: 1, applied: 6 } }
    })
    await silent.record.received(6)
    turning.child.write(Buffer.from("\n"))
    await turning.record.received(11)
    await edge.close()
    await untilRunGone(silent)
    assert.isTrue(isRunning(turning.child.pid ?? 0))
    const next = await connectEdge({ home })
    const { opened } = await Effect.runPromise(next.holder.open(turning.id))
    assert.isUndefined(opened.end)
  })

  it("kills what a run leaves behind that ends without an Edge", async () => {
    const home = openHome()
    const edge = await connectEdge({ home })
    const [pipe, other] = [await startShell(edge, "read line"), await startShell(edge, "read line")]
    const run = await startShell(edge, `${ESCAPING.replace("while", "sleep 600 & exit 0; while")}`)
    await run.record.received(6)
    await edge.close()
    await untilNone(run)
    for (const { child } of [pipe, other]) assert.isTrue(isRunning(child.pid ?? 0))
    const next = await connectEdge({ home })
    const adopted = await adoptRun(next, run.id)
    assert.strictEqual((await adopted.record.ended.promise).code, 0)
  })

  it("leaves a run whose time is over to the Edge that is connected", async () => {
    const home = openHome()
    const edge = await connectEdge({ home })
    const run = await startShell(edge, "read line; exit 7", { limits: { until: { wall: 1 } } })
    const other = await startShell(edge, "exit 0")
    await other.record.ended.promise
    assert.isTrue(isRunning(run.child.pid ?? 0))
    await edge.close()
    await untilRunGone(run)
  })

  it("ends a run at the time that its Edge set last", async () => {
    const home = openHome()
    const edge = await connectEdge({ home })
    const late = await startShell(edge, "read line", { limits: { until: { wall: 1 } } })
    const early = await startShell(edge, "read line", { limits: { until: { wall: Date.now() + 600_000 } } })
    late.connection.setUntil({ wall: Date.now() + 600_000 })
    early.connection.setUntil({ cap: 1 })
    await Effect.runPromise(late.connection.keep(Buffer.from("answered after the time")))
    await Effect.runPromise(early.connection.keep(Buffer.from("answered after the time")))
    await edge.close()
    await untilRunGone(early)
    assert.isTrue(isRunning(late.child.pid ?? 0))
  })

  it("ends without runs when its Edge stops, or when the Edge says so", async () => {
    const home = openHome()
    const edge = await connectEdge({ home })
    const run = await startShell(edge, "exit 0")
    await run.record.ended.promise
    await Effect.runPromise(run.connection.end)
    const [first = 0] = holdersOf(home)
    await Effect.runPromise(edge.holder.endWhenIdle)
    await untilGone(first)
    const again = await startShell(edge, "exit 0")
    await again.record.ended.promise
    await Effect.runPromise(again.connection.end)
    const [second = 0] = holdersOf(home)
    assert.notStrictEqual(first, second)
    await edge.close()
    await untilGone(second)
    assert.deepStrictEqual(storedOutput(home), [])
  })

  it("ends all runs at SIGTERM, and survives SIGHUP and SIGINT", async () => {
    const home = openHome()
    const edge = await connectEdge({ home })
    const run = await startShell(edge, ESCAPING)
    await run.record.received(6)
    const [holder = 0] = holdersOf(home)
    process.kill(holder, "SIGHUP")
    process.kill(holder, "SIGINT")
    const other = await startShell(edge, "exit 0")
    await other.record.ended.promise
    process.kill(holder, "SIGTERM")
    await untilGone(holder)
    await untilNone(run, other)
    assert.strictEqual((await run.record.ended.promise).signal, "SIGKILL")
    assert.deepStrictEqual(storedOutput(home), [])
  })

  it("ends a run at once whose output is not whole, because no Edge could continue it", async () => {
    const home = openHome()
    const edge = await connectEdge({ home })
    const run = newRun()
    const loud = await startShell(edge, "yes | head -c 200000; read line", {
      run,
      limits: { maxBytes: 100_000 }
    })
    await loud.record.received(200_000)
    assert.isFalse(existsSync(outputFile(home, run)))
    await edge.close()
    await untilRunGone(loud)
    const next = await connectEdge({ home })
    const { opened } = await Effect.runPromise(next.holder.open(run))
    assert.isFalse(opened.isWhole)
    assert.strictEqual(opened.end?.by, "output")
  })
})
