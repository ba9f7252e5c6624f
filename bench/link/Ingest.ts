/** Events a second that Edges push over their links and a Hub has made durable, beside the same texts sent to a bare program that writes them. */
import { WebSocket } from "ws"
import { type BenchSide, isFloor } from "../Builds.ts"
import { compared, eachSide, interleave, on, sidesOf } from "../Pair.ts"
import { cpuMicrosOf } from "../ProcessFigures.ts"
import { createRunOf } from "../hub/BenchRun.ts"
import { benchLineOf } from "../hub/EventLine.ts"
import { atLeast, type Report } from "../Report.ts"
import { type LinkBenchOptions, type LinkPair, pairOf, withLinkPairs } from "./LinkPair.ts"
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

/** Returns what pushes the events of one round over the links of a pair. */
const pusherOf = async ({ act, devices, edges, projectId }: LinkPair): Promise<() => Promise<number>> => {
  const all = await devices(EDGES)
  const ask = await edges()
  await ask({ connect: all })
  return async () => {
    const push = []
    for (const { deviceId } of all) {
      const { runId } = await act(createRunOf(projectId, deviceId))
      push.push({ deviceId, runId, count: EVENTS })
    }
    const { ms = 0, pushed = 0 } = await ask({ push })
    return (pushed * 1_000) / ms
  }
}

export const measureLinkIngest = (options: LinkBenchOptions, report: Report): Promise<void> =>
  withLinkPairs(options, async (pairs) => {
    const bare = await pairs.edge.floor()
    const pushers = await eachSide(options, async (side) =>
      isFloor(side)
        ? { pid: bare.pid, push: () => pushBare(bare.url) }
        : { pid: pairOf(pairs, side).hub.pid, push: await pusherOf(pairOf(pairs, side)) }
    )
    const measure = async (side: BenchSide) => {
      const { pid, push } = on(pushers, side)
      const before = cpuMicrosOf(pid)
      const rate = await push()
      return { rate, cpu: (cpuMicrosOf(pid) - before) / (EDGES * EVENTS) }
    }
    await interleave(1, measure, sidesOf(options))
    const taken = await interleave(options.rounds, measure, sidesOf(options))
    report.add({
      figure: `events made durable over ${EDGES} links`,
      unit: "/s",
      ...compared(taken, ({ rate }) => rate),
      rounds: options.rounds,
      goal: atLeast(50_000)
    })
    report.add({
      figure: `CPU of the Hub per event over ${EDGES} links`,
      unit: "µs",
      ...compared(taken, ({ cpu }) => cpu),
      rounds: options.rounds
    })
  })
