/**
 * What it costs to link devices, and what devices cost that are there and do nothing: memory and time of the Hub for 100 to 10,000 of them,
 * beside bare sockets.
 */
import { WebSocket } from "ws"
import { type BenchSide, isFloor } from "../Builds.ts"
import { compared, eachSide, on } from "../Pair.ts"
import { cpuMicrosOf, memoryOf } from "../ProcessFigures.ts"
import type { Report } from "../Report.ts"
import { cpuOfAll, databaseActivity } from "./DatabaseActivity.ts"
import { type LinkBenchOptions, type LinkPair, pairOf, type ServedHub, withLinkPairs } from "./LinkPair.ts"

/** As many as the program with the links makes side by side. */
const AT_ONCE = 16
const COUNTS = [100, 1_000, 5_000, 10_000]
/** The garbage of the moment hides the memory of fewer devices. */
const MEASURABLE = 1_000
/** Two heartbeats of each. */
const WATCHED_MS = 30_000

const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

const same = (value: number): number => value

const openBare = async (url: string): Promise<WebSocket> => {
  const socket = new WebSocket(url.replace("http", "ws"), { perMessageDeflate: false })
  await new Promise((resolve) => socket.once("open", resolve))
  return socket
}

/** Holds connections to a program. */
interface Holder {
  readonly pid: number
  /** Connects that many more. */
  readonly connect: (count: number) => Promise<Connecting>
}

interface Connecting {
  readonly ms: number
  /** Microseconds of the program and its database. */
  readonly cpu: number
}

/** `cpu` reads the microseconds so far. */
const measured = async (cpu: () => number, work: () => Promise<unknown>): Promise<Connecting> => {
  const [begin, spent] = [performance.now(), cpu()]
  await work()
  return { ms: performance.now() - begin, cpu: cpu() - spent }
}

const deviceHolder = async (pair: LinkPair): Promise<Holder> => {
  const { devices, hub, pushers } = pair
  const ask = await pushers(hub.url, "hub")
  return {
    pid: hub.pid,
    connect: async (count) => {
      const all = await devices(count)
      const { pids } = await databaseActivity(pair)
      return measured(
        () => cpuMicrosOf(hub.pid) + cpuOfAll(pids),
        () => ask({ connect: all })
      )
    }
  }
}

const bareHolder = ({ pid, url }: ServedHub, held: Array<WebSocket>): Holder => ({
  pid,
  connect: (count) =>
    measured(
      () => cpuMicrosOf(pid),
      async () => {
        for (let left = count; left > 0; left -= AT_ONCE)
          held.push(
            ...(await Promise.all(Array.from({ length: Math.min(AT_ONCE, left) }, () => openBare(url))))
          )
      }
    )
})

export const measureDevices = (options: LinkBenchOptions, report: Report): Promise<void> =>
  withLinkPairs(options, async (pairs) => {
    const held: Array<WebSocket> = []
    const bare = await pairs.edge.floor()
    const holders = await eachSide(options, (side) =>
      isFloor(side) ? bareHolder(bare, held) : deviceHolder(pairOf(pairs, side))
    )
    // The first ones bring what all of them share.
    await eachSide(options, (side) => on(holders, side).connect(50))
    const anonymous = (side: BenchSide) => memoryOf(on(holders, side).pid).anonymous
    const cpu = (side: BenchSide) => cpuMicrosOf(on(holders, side).pid)
    const before = await eachSide(options, anonymous)
    let there = 0
    for (const count of COUNTS) {
      const more = count - there
      there = count
      const add = async (figure: string, unit: string, of: (side: BenchSide) => number) =>
        report.add({
          figure,
          unit,
          ...compared(await eachSide(options, (side) => [of(side)]), same),
          rounds: 1
        })
      const connected = await eachSide(options, (side) => on(holders, side).connect(more))
      const spent = await eachSide(options, cpu)
      await pause(WATCHED_MS)
      const used = await eachSide(options, (side) => cpu(side) - on(spent, side))
      const grown = await eachSide(options, (side) => anonymous(side) - on(before, side))
      if (count >= MEASURABLE)
        await add(`memory of the Hub a device, of ${count}`, "KB", (side) => on(grown, side) / count)
      await add(
        `a processor's share for ${count} idle devices`,
        "%",
        (side) => (on(used, side) / 1_000 / WATCHED_MS) * 100
      )
      await add(
        `devices linked a second, ${more} at once`,
        "/s",
        (side) => (more * 1_000) / on(connected, side).ms
      )
      await add(
        `CPU of Hub and PostgreSQL per device of ${more}`,
        "µs",
        (side) => on(connected, side).cpu / more
      )
    }
    for (const socket of held) socket.terminate()
  })
