/**
 * How many events a second a Hub makes durable: pushes of 500 events of 8 runs at once, through its own `RunLog`, beside the same text in rows
 * of the same size through `pg`, which does not look at it. Both in this process.
 */
import { RunLog } from "@corral/hub/run/RunLog"
import { Effect } from "effect"
import { Client } from "pg"
import { type BenchSide, previousFigure } from "../Builds.ts"
import { compared, interleave, sidesOf } from "../Pair.ts"
import type { Report } from "../Report.ts"
import { atLeast } from "../Report.ts"
import { createRunOf } from "./BenchRun.ts"
import { benchLineOf } from "./EventLine.ts"
import type { HubBenchOptions } from "./HubBench.ts"
import { type HubPair, withHubPair } from "./HubPair.ts"

const RUNS = 8
const BATCH = 500
const PUSHES = 10
/** Characters of text: an envelope of about 320 bytes. */
const TEXT = "x".repeat(100)

type Pushes = Effect.Success<ReturnType<typeof makePushes>>

const makePushes = Effect.fnUntraced(function* (projectId: HubPair["projectId"], rounds: number) {
  const runs = yield* Effect.forEach(Array.from({ length: RUNS * (rounds + 1) }), () =>
    createRunOf(projectId)
  )
  return runs.map((run) => ({
    ...run,
    batches: Array.from({ length: PUSHES }, (_, push) =>
      Array.from({ length: BATCH }, (__, i) =>
        benchLineOf(run.runId, 2 + push * BATCH + i, "run.message.delta", {
          messageId: "m1",
          channel: "text",
          text: TEXT
        })
      )
    )
  }))
})

const EVENTS = PUSHES * BATCH * RUNS
const rateSince = (begin: number) => (EVENTS * 1_000) / (performance.now() - begin)
const pushesOf = (pushes: Pushes, round: number) => pushes.slice(round * RUNS, (round + 1) * RUNS)

/** Events per second into the Hub's log. */
const hubRate = Effect.fnUntraced(function* (pushes: Pushes, round: number) {
  const log = yield* RunLog
  const begin = performance.now()
  yield* Effect.forEach(
    pushesOf(pushes, round),
    ({ batches, runId, targetId }) =>
      Effect.forEach(batches, (events, push) =>
        log.append(targetId, [{ runId, firstSeq: 2 + push * BATCH, events }])
      ),
    { concurrency: RUNS, discard: true }
  )
  return rateSince(begin)
})

const connect = async (host: string) => {
  const client = new Client({ host, user: "corral", database: "postgres" })
  await client.connect()
  return client
}

/** Events per second into one table, by one connection per run. */
const floorRate = async (host: string, pushes: Pushes, round: number): Promise<number> => {
  const clients = await Promise.all(Array.from({ length: RUNS }, () => connect(host)))
  const begin = performance.now()
  await Promise.all(
    pushesOf(pushes, round).map(async ({ batches, runId }, i) => {
      for (const [push, lines] of batches.entries())
        await clients[i]?.query("INSERT INTO bench_events VALUES ($1, $2, $3)", [
          `${round} ${runId}`,
          push,
          lines.join("\n")
        ])
    })
  )
  const rate = rateSince(begin)
  await Promise.all(clients.map((each) => each.end()))
  return rate
}

export const measureHubIngest = (options: HubBenchOptions, report: Report): Promise<void> =>
  withHubPair(options, async ({ act, projectId, sockets }) => {
    const client = await connect(sockets)
    await client.query(
      "CREATE TABLE bench_events (run_id text, last_seq int, lines text, PRIMARY KEY (run_id, last_seq))"
    )
    try {
      const pushes = await act(makePushes(projectId, options.rounds))
      const figure = `events made durable, ${RUNS} runs at once`
      // Round 0 warms up.
      const round = { edge: 0, floor: 0 }
      const rateOf = async (side: BenchSide): Promise<number> => {
        if (side === "edge") return act(hubRate(pushes, round.edge++))
        if (side === "floor") return floorRate(sockets, pushes, round.floor++)
        return previousFigure(options, { figure, name: "hub", only: "ingest" })
      }
      await interleave(1, rateOf)
      const taken = await interleave(options.rounds, rateOf, sidesOf(options))
      report.add({
        figure,
        unit: "/s",
        ...compared(taken, (rate) => rate),
        rounds: options.rounds,
        goal: atLeast(50_000)
      })
    } finally {
      await client.end()
    }
  })
