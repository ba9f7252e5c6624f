/**
 * Small pushes over one, two and three Hubs that share one PostgreSQL: what a push costs all of them, and what its connections wait for. The same number of links is
 * divided among the Hubs. The column of the floor is one Hub; a machine with two cores shows the cost of more, not their rate.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { builtProgram } from "../Builds.ts"
import { createRunOf } from "../hub/BenchRun.ts"
import { atMostTimesFloor, type Report } from "../Report.ts"
import { median } from "../Statistics.ts"
import { cpuOfAll, databaseActivity } from "./DatabaseActivity.ts"
import { type LinkBenchOptions, type LinkPair, type ServedHub, withLinkPair } from "./LinkPair.ts"

const LINKS = 198
const MILLIS = 4_000
const COUNTS = [1, 2, 3]
const SAMPLE_MS = 20

interface Pushed {
  readonly rate: number
  readonly p99: number
  /** Microseconds per push, of all Hubs and of PostgreSQL. */
  readonly cpu: number
  readonly commits: number
  /** Share of the samples of working connections that wait for a lock of the whole server or of a relation. */
  readonly locked: number
}

type Pusher = () => Promise<Pushed>

/** Connections that execute a statement, and those of them that wait for a lock other than a row's. */
const waitsOf = ({ act }: LinkPair) =>
  act(
    Effect.flatMap(
      SqlClient.SqlClient,
      (sql) => sql<{ readonly active: number; readonly locked: number }>`
        SELECT count(*)::int AS active, (count(*) FILTER (
          WHERE wait_event_type = 'Lock' AND wait_event IN ('object', 'relation', 'extend', 'advisory', 'userlock')
        ))::int AS locked
        FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND datname = current_database()`
    )
  )

const pusherOver = async (pair: LinkPair, hubs: ReadonlyArray<ServedHub>): Promise<Pusher> => {
  const parts = await Promise.all(
    hubs.map(async ({ url }) => {
      const devices = await pair.devices(LINKS / hubs.length)
      const ask = await pair.pushers(url, "hub")
      await ask({ connect: devices })
      return { ask, devices }
    })
  )
  return async () => {
    const pushes: Array<ReadonlyArray<object>> = []
    for (const { devices } of parts) {
      const push = []
      for (const { deviceId } of devices) {
        const { runId } = await pair.act(createRunOf(pair.projectId, deviceId))
        push.push({ deviceId, runId, firstSeq: 2 })
      }
      pushes.push(push)
    }
    const before = await databaseActivity(pair)
    const pids = [...before.pids, ...hubs.map(({ pid }) => pid)]
    const cpuBefore = cpuOfAll(pids)
    const samples = { active: 0, locked: 0 }
    const sample = async (): Promise<void> => {
      const [waits] = await waitsOf(pair)
      samples.active += waits?.active ?? 0
      samples.locked += waits?.locked ?? 0
    }
    const sampler = setInterval(() => void sample(), SAMPLE_MS)
    const answers = await Promise.all(
      parts.map(({ ask }, at) => ask({ push: pushes[at] ?? [], millis: MILLIS }))
    )
    clearInterval(sampler)
    const pushed = answers.reduce((sum, each) => sum + (each["pushed"] ?? 0), 0)
    const cpu = cpuOfAll(pids) - cpuBefore
    const { commits } = await databaseActivity(pair)
    return {
      rate: (pushed * 1_000) / MILLIS,
      p99: Math.max(...answers.map((each) => each["p99"] ?? 0)),
      cpu: cpu / pushed,
      commits: (commits - before.commits) / pushed,
      locked: samples.active === 0 ? 0 : samples.locked / samples.active
    }
  }
}

const startHub = (pair: LinkPair, options: LinkBenchOptions): Promise<ServedHub> =>
  pair.start([builtProgram(options, "edge", "hub")], {
    CORRAL_HOME: pair.home,
    CORRAL_HUB_REQUESTS_PER_SECOND: "1000000"
  })

export const measureHubs = (options: LinkBenchOptions, report: Report): Promise<void> =>
  withLinkPair(options, async (pair) => {
    const hubs = [pair.hub, await startHub(pair, options), await startHub(pair, options)]
    const pushers = await Promise.all(COUNTS.map((count) => pusherOver(pair, hubs.slice(0, count))))
    const taken: ReadonlyArray<Array<Pushed>> = COUNTS.map(() => [])
    // The first round warms up.
    for (let round = 0; round <= options.rounds; round++)
      for (const [at, pusher] of pushers.entries()) {
        const pushed = await pusher()
        if (round > 0) taken[at]?.push(pushed)
      }
    const of = (at: number, figure: (pushed: Pushed) => number) => median((taken[at] ?? []).map(figure))
    for (const [at, count] of COUNTS.entries()) {
      const add = (
        figure: string,
        unit: string,
        value: (pushed: Pushed) => number,
        goal?: ReturnType<typeof atMostTimesFloor>
      ) =>
        report.add({
          figure: `${figure}, ${count} of 3 Hubs`,
          unit,
          edge: of(at, value),
          floor: of(0, value),
          rounds: options.rounds,
          ...(goal === undefined ? {} : { goal })
        })
      add("CPU of Hubs and PostgreSQL per small push", "µs", ({ cpu }) => cpu, atMostTimesFloor(1.1))
      add("commits per small push", "", ({ commits }) => commits)
      add("small pushes acknowledged", "/s", ({ rate }) => rate)
      add("small push until its acknowledgement, p99", "ms", ({ p99 }) => p99)
      add("samples that wait for a lock of the server", "%", ({ locked }) => locked * 100)
    }
  })
