/** What devices cost that are there and do nothing: memory and time of the Hub for 100, 1,000 and 5,000 of them, beside bare sockets. */
import { WebSocket } from "ws"
import { cpuMicrosOf, memoryOf } from "../ProcessFigures.ts"
import type { Report } from "../Report.ts"
import { type LinkBenchOptions, withLinkPair } from "./LinkPair.ts"

/** As many as the program of simulated Edges links side by side. */
const AT_ONCE = 16
const COUNTS = [100, 1_000, 5_000]
/** Two heartbeats of each. */
const WATCHED_MS = 30_000

const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

const openBare = async (url: string): Promise<WebSocket> => {
  const socket = new WebSocket(url.replace("http", "ws"), { perMessageDeflate: false })
  await new Promise((resolve) => socket.once("open", resolve))
  return socket
}

export const measureDevices = (options: LinkBenchOptions, report: Report): Promise<void> =>
  withLinkPair(options, async ({ devices, edges, floor, hub }) => {
    const bare = await floor()
    const ask = await edges()
    // The first ones bring what all of them share.
    await ask({ connect: await devices(50) })
    const held: Array<WebSocket> = []
    for (let i = 0; i < 50; i++) held.push(await openBare(bare.url))
    const before = { ours: memoryOf(hub.pid).anonymous, bare: memoryOf(bare.pid).anonymous }
    let there = 0
    for (const count of COUNTS) {
      const more = await devices(count - there)
      const begin = performance.now()
      await ask({ connect: more })
      const connected = performance.now() - begin
      const beganBare = performance.now()
      for (let i = there; i < count; i += AT_ONCE)
        held.push(
          ...(await Promise.all(
            Array.from({ length: Math.min(AT_ONCE, count - i) }, () => openBare(bare.url))
          ))
        )
      const connectedBare = performance.now() - beganBare
      there = count
      const spent = { ours: cpuMicrosOf(hub.pid), bare: cpuMicrosOf(bare.pid) }
      await pause(WATCHED_MS)
      const cores = (micros: number): number => (micros / 1_000 / WATCHED_MS) * 100
      report.add({
        figure: `memory of the Hub a device, of ${count}`,
        unit: "KB",
        edge: (memoryOf(hub.pid).anonymous - before.ours) / count,
        floor: (memoryOf(bare.pid).anonymous - before.bare) / count,
        rounds: 1
      })
      report.add({
        figure: `a processor's share for ${count} idle devices`,
        unit: "%",
        edge: cores(cpuMicrosOf(hub.pid) - spent.ours),
        floor: cores(cpuMicrosOf(bare.pid) - spent.bare),
        rounds: 1
      })
      report.add({
        figure: `devices linked a second, ${more.length} at once`,
        unit: "/s",
        edge: (more.length * 1_000) / connected,
        floor: (more.length * 1_000) / connectedBare,
        rounds: 1
      })
    }
    for (const socket of held) socket.terminate()
  })
