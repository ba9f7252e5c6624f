/**
 * What the end of a run costs. How long a cancel takes: until the whole process tree of the run is dead, and until the caller has the answer. The
 * program leaves when it is asked. Its child holds stdout, and ends only by SIGKILL. And the server's CPU for the end of a run that completes, and
 * for a cancel: from the request that ends it until the server is at rest.
 */
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { constants, openSync } from "node:fs"
import { Socket } from "node:net"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import type { BenchSide } from "../Builds.ts"
import { compared, eachSide, interleave, on, sidesOf, withPair } from "../Pair.ts"
import { atMost, type Report } from "../Report.ts"
import type { BenchTarget } from "../Target.ts"
import type { EdgeBenchOptions } from "./EdgeBench.ts"
import { FirstEvents } from "./FirstEvents.ts"
import { cancelBenchRun, sendInput } from "./RunClient.ts"

const CANCELS_A_ROUND = 8
const ENDS_A_ROUND = 4
/** Time in which a server finishes what follows the last event of a run, in milliseconds. */
const REST_MS = 500

/** The server's CPU, in milliseconds, from a request until it is at rest. */
const cpuOf = async (target: BenchTarget, request: () => Promise<void>): Promise<number> => {
  await setTimeout(REST_MS)
  const before = target.cpuMicros()
  await request()
  await setTimeout(REST_MS)
  return (target.cpuMicros() - before) / 1_000
}

/** Resolves when no process has the FIFO open for writing. */
const endOfTree = async (fifo: string): Promise<number> => {
  const socket = new Socket({
    fd: openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK),
    writable: false
  })
  await once(socket.resume(), "end")
  const at = performance.now()
  socket.destroy()
  return at
}

export const measureCancel = (options: EdgeBenchOptions, report: Report): Promise<void> =>
  withPair({ ...options, hasQuick: true }, async (pair) => {
    const sides = sidesOf(options)
    const events = await eachSide(options, (side) => FirstEvents.open(on(pair, side)))
    const fifos = await eachSide(options, (side) => join(on(pair, side).workspace, "tree"))
    for (const side of sides) execFileSync("mkfifo", [on(fifos, side)])
    const cancel = async (side: BenchSide) => {
      const { id } = await on(events, side).follow({ agentId: "quick", text: "/tree" }, "run.started")
      const dead = endOfTree(on(fifos, side))
      const cancelled = on(events, side).next("run.cancelled")
      const begin = performance.now()
      await cancelBenchRun(on(pair, side), id)
      const answer = performance.now() - begin
      await cancelled
      return { answer, dead: (await dead) - begin }
    }
    await interleave(4, cancel, sides)
    const rounds = options.rounds * CANCELS_A_ROUND
    const taken = await interleave(rounds, cancel, sides)
    const [dead, answer] = [compared(taken, (each) => each.dead), compared(taken, (each) => each.answer)]
    report.add({ figure: "cancel → whole tree dead", unit: "ms", ...dead, goal: atMost(15), rounds })
    report.add({ figure: "cancel → answer", unit: "ms", ...answer, goal: atMost(40), rounds })
    const end = async (side: BenchSide) => {
      const { id } = await on(events, side).follow({ agentId: "scripted", text: "/wait" }, "run.started")
      return cpuOf(on(pair, side), async () => {
        const completed = on(events, side).next("run.completed")
        await sendInput(on(pair, side), id)
        await completed
      })
    }
    const cancelled = async (side: BenchSide) => {
      const { id } = await on(events, side).follow({ agentId: "scripted", text: "/wait" }, "run.started")
      return cpuOf(on(pair, side), () => cancelBenchRun(on(pair, side), id))
    }
    const ends = options.rounds * ENDS_A_ROUND
    const [endCpu, cancelCpu] = [await interleave(ends, end, sides), await interleave(ends, cancelled, sides)]
    const same = (each: number): number => each
    const unit = "ms"
    report.add({
      figure: "server CPU of a normal end",
      unit,
      ...compared(endCpu, same),
      goal: atMost(20),
      rounds: ends
    })
    report.add({ figure: "server CPU of a cancel", unit, ...compared(cancelCpu, same), rounds: ends })
    for (const side of sides) on(events, side).drop()
  })
