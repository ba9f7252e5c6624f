/** Events a second that Edges push over their links and a Hub has made durable, beside the same texts sent to a bare program that writes them. */
import { WebSocket } from "ws"
import { createRunOf } from "../hub/BenchRun.ts"
import { benchLineOf } from "../hub/EventLine.ts"
import { atLeast, type Report } from "../Report.ts"
import { median } from "../Statistics.ts"
import { type LinkBenchOptions, withLinkPair } from "./LinkPair.ts"
import type { RunId } from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"

const EDGES = 8
const EVENTS = 20_000
const BATCH = 500
const IN_FLIGHT = 4
const TEXT = "x".repeat(100)

const pushBare = async (url: string): Promise<number> => {
  const runs = Array.from({ length: EDGES }, () => mint<RunId>("run", Date.now()))
  const pushes = runs.map((runId) =>
    Array.from({ length: EVENTS / BATCH }, (_, push) => {
      const firstSeq = 2 + push * BATCH
      const events = Array.from({ length: BATCH }, (__, i) =>
        benchLineOf(runId, firstSeq + i, "run.message.delta", {
          messageId: "m1",
          channel: "text",
          text: TEXT
        })
      )
      return { runId, firstSeq, events }
    })
  )
  const sockets = await Promise.all(
    runs.map(async () => {
      const socket = new WebSocket(url.replace("http", "ws"), { perMessageDeflate: false })
      await new Promise((resolve) => socket.once("open", resolve))
      return socket
    })
  )
  const begin = performance.now()
  await Promise.all(
    sockets.map(
      (socket, i) =>
        new Promise<void>((resolve) => {
          const mine = pushes[i] ?? []
          let sent = 0
          let acknowledged = 0
          const more = () => {
            while (sent < mine.length && sent - acknowledged < IN_FLIGHT)
              socket.send(JSON.stringify(mine[sent++]))
          }
          socket.on("message", () => {
            acknowledged++
            if (acknowledged === mine.length) resolve()
            else more()
          })
          more()
        })
    )
  )
  const rate = (EDGES * EVENTS * 1_000) / (performance.now() - begin)
  for (const socket of sockets) socket.terminate()
  return rate
}

export const measureLinkIngest = (options: LinkBenchOptions, report: Report): Promise<void> =>
  withLinkPair(options, async ({ act, devices, edges, floor, projectId }) => {
    const bare = await floor()
    const all = await devices(EDGES)
    const ask = await edges()
    await ask({ connect: all })
    const ours = async (): Promise<number> => {
      const push = []
      for (const { deviceId } of all) {
        const { runId } = await act(createRunOf(projectId, deviceId))
        push.push({ deviceId, runId, count: EVENTS })
      }
      const { ms = 0, pushed = 0 } = await ask({ push })
      return (pushed * 1_000) / ms
    }
    await ours()
    await pushBare(bare.url)
    const taken = { ours: [] as Array<number>, bare: [] as Array<number> }
    for (let round = 0; round < options.rounds; round++) {
      taken.ours.push(await ours())
      taken.bare.push(await pushBare(bare.url))
    }
    report.add({
      figure: `events made durable over ${EDGES} links`,
      unit: "/s",
      edge: median(taken.ours),
      floor: median(taken.bare),
      rounds: options.rounds,
      goal: atLeast(50_000)
    })
  })
