/** What a socket costs that is held and says nothing: followers of one run, which does not go on. */
import { compared, eachSide, on } from "../Pair.ts"
import { createRunOf } from "./BenchRun.ts"
import type { Report } from "../Report.ts"
import { memoryOf } from "../ProcessFigures.ts"
import { WebSocket } from "ws"
import type { HubBenchOptions } from "./HubBench.ts"
import { type HubSide, withHubPair } from "./HubPair.ts"

/** Enough that the garbage of the moment is a small part. */
const COUNT = 5_000

const open = async (url: string, token: string): Promise<WebSocket> => {
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${token}` } })
  await new Promise((resolve, reject) => {
    socket.once("open", resolve)
    socket.once("error", reject)
  })
  return socket
}

export const measureSockets = (options: HubBenchOptions, report: Report): Promise<void> =>
  withHubPair(options, async ({ act, projectId, sides, token }) => {
    const { runId } = await act(createRunOf(projectId))
    const resident = await eachSide(options, (side) => [memoryOf(on(sides, side).pid).resident])
    report.add({
      figure: "memory of an idle Hub (resident)",
      unit: "MB",
      ...compared(resident, (kilobytes) => kilobytes / 1_000),
      rounds: 1
    })
    const perSocket = async ({ pid, url }: HubSide): Promise<number> => {
      const target = `${url.replace("http", "ws")}/client/events?runId=${runId}`
      const held: Array<WebSocket> = []
      // The first ones bring what all of them share.
      for (let i = 0; i < 200; i++) held.push(await open(target, token))
      const before = memoryOf(pid).anonymous
      for (let i = 0; i < COUNT; i += 20)
        held.push(...(await Promise.all(Array.from({ length: 20 }, () => open(target, token)))))
      const grown = memoryOf(pid).anonymous - before
      for (const socket of held) socket.terminate()
      return grown / COUNT
    }
    const grown = await eachSide(options, async (side) => [await perSocket(on(sides, side))])
    report.add({
      figure: `memory per idle follower, of ${COUNT}`,
      unit: "KB",
      ...compared(grown, (kilobytes) => kilobytes),
      rounds: 1
    })
  })
