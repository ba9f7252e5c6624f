/**
 * How long a cancel takes: until the whole process tree of the run is dead, and until the caller has the answer. The program leaves when it
 * is asked. Its child holds stdout, and ends only by SIGKILL.
 */
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { constants, openSync } from "node:fs"
import { Socket } from "node:net"
import { join } from "node:path"
import type { BenchSide } from "../Builds.ts"
import { compared, eachSide, interleave, on, sidesOf, withPair } from "../Pair.ts"
import { atMost, type Report } from "../Report.ts"
import type { EdgeBenchOptions } from "./EdgeBench.ts"
import { FirstEvents } from "./FirstEvents.ts"
import { cancelBenchRun } from "./RunClient.ts"

const CANCELS_A_ROUND = 8

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
    for (const side of sides) on(events, side).drop()
  })
