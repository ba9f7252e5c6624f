/** What a socket costs that is held and says nothing: followers of one run, which does not go on. */
import { createRunOf } from "./BenchRun.ts"
import type { Report } from "../Report.ts"
import { memoryOf } from "../ProcessFigures.ts"
import { WebSocket } from "ws"
import type { HubBenchOptions } from "./HubBench.ts"
import { type HubSide, withHubPair } from "./HubPair.ts"

const COUNT = 1_000

const open = async (url: string, token: string): Promise<WebSocket> => {
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${token}` } })
  await new Promise((resolve, reject) => {
    socket.once("open", resolve)
    socket.once("error", reject)
  })
  return socket
}

export const measureSockets = (options: HubBenchOptions, report: Report): Promise<void> =>
  withHubPair(options, async ({ act, floor, hub, projectId, token }) => {
    const { runId } = await act(createRunOf(projectId))
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
    const edge = await perSocket(hub)
    report.add({
      figure: `memory per idle follower, of ${COUNT}`,
      unit: "KB",
      edge,
      floor: await perSocket(floor),
      rounds: 1
    })
    report.add({
      figure: "memory of an idle Hub (resident)",
      unit: "MB",
      edge: memoryOf(hub.pid).resident / 1_000,
      floor: memoryOf(floor.pid).resident / 1_000,
      rounds: 1
    })
  })
