/**
 * How many events a second a Hub makes durable: pushes of 500 events of 8 runs at once, through its own `RunLog`, beside the same text in rows
 * of the same size through `pg`, which does not look at it. Both in this process.
 */
import { RunLog } from "@corral/hub/run/RunLog"
import { Effect } from "effect"
import { Client } from "pg"
import type { Report } from "../Report.ts"
import { atLeast } from "../Report.ts"
import { median } from "../Statistics.ts"
import { createRunOf } from "./BenchRun.ts"
import { lineOf } from "./EventLine.ts"
import type { HubBenchOptions } from "./HubBench.ts"
import { withHubPair } from "./HubPair.ts"

const RUNS = 8
const BATCH = 500
const PUSHES = 10
/** Characters of text: an envelope of about 320 bytes. */
const TEXT = "x".repeat(100)

export const measureHubIngest = (options: HubBenchOptions, report: Report): Promise<void> =>
  withHubPair(options, async ({ act, projectId, sockets }) => {
    const client = new Client({ host: sockets, user: "corral", database: "postgres" })
    await client.connect()
    await client.query(
      "CREATE TABLE bench_events (run_id text, last_seq int, lines text, PRIMARY KEY (run_id, last_seq))"
    )
    const events = PUSHES * BATCH * RUNS

    const pushes = await act(
      Effect.gen(function* () {
        const runs = yield* Effect.forEach(Array.from({ length: RUNS * (options.rounds + 1) }), () =>
          createRunOf(projectId)
        )
        return runs.map((run) => ({
          ...run,
          batches: Array.from({ length: PUSHES }, (_, push) =>
            Array.from({ length: BATCH }, (__, i) =>
              lineOf(run.runId, 2 + push * BATCH + i, "run.message.delta", {
                messageId: "m1",
                channel: "text",
                text: TEXT
              })
            )
          )
        }))
      })
    )

    const ours = (round: number) =>
      act(
        Effect.gen(function* () {
          const log = yield* RunLog
          const begin = performance.now()
          yield* Effect.forEach(
            pushes.slice(round * RUNS, (round + 1) * RUNS),
            ({ batches, runId, targetId }) =>
              Effect.forEach(batches, (events, push) =>
                log.append(targetId, [{ runId, firstSeq: 2 + push * BATCH, events }])
              ),
            { concurrency: RUNS, discard: true }
          )
          return (events * 1_000) / (performance.now() - begin)
        })
      )

    const raw = async (round: number): Promise<number> => {
      const clients = await Promise.all(
        Array.from({ length: RUNS }, async () => {
          const each = new Client({ host: sockets, user: "corral", database: "postgres" })
          await each.connect()
          return each
        })
      )
      const begin = performance.now()
      await Promise.all(
        pushes.slice(round * RUNS, (round + 1) * RUNS).map(async ({ batches, runId }, i) => {
          for (const [push, lines] of batches.entries())
            await clients[i]?.query("INSERT INTO bench_events VALUES ($1, $2, $3)", [
              `${round} ${runId}`,
              push,
              lines.join("\n")
            ])
        })
      )
      const rate = (events * 1_000) / (performance.now() - begin)
      await Promise.all(clients.map((each) => each.end()))
      return rate
    }

    try {
      await ours(0)
      await raw(0)
      const taken = { ours: [] as Array<number>, raw: [] as Array<number> }
      for (let round = 1; round <= options.rounds; round++) {
        taken.ours.push(await ours(round))
        taken.raw.push(await raw(round))
      }
      report.add({
        figure: `events made durable, ${RUNS} runs at once`,
        unit: "/s",
        edge: median(taken.ours),
        floor: median(taken.raw),
        rounds: options.rounds,
        goal: atLeast(50_000)
      })
    } finally {
      await client.end()
    }
  })
