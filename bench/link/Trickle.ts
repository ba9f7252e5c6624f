/**
 * Small pushes of many links, as runs that say a word now and then make them: how many a Hub acknowledges a second, how long an
 * acknowledgement takes, and what a push costs the Hub and its PostgreSQL. Beside a bare program that writes what has arrived meanwhile in one
 * statement.
 */
import { mint } from "@corral/service/Identifiers"
import type { RunId } from "@corral/domain/identity/Ids"
import { type BenchSide, isFloor } from "../Builds.ts"
import { createRunOf } from "../hub/BenchRun.ts"
import { compared, eachSide, interleave, on, sidesOf } from "../Pair.ts"
import { cpuMicrosOf } from "../ProcessFigures.ts"
import { atLeast, atMost, type Report } from "../Report.ts"
import { cpuOfAll, databaseActivity } from "./DatabaseActivity.ts"
import { type LinkBenchOptions, type LinkPair, pairOf, withLinkPairs } from "./LinkPair.ts"

const LINKS = 200
const MILLIS = 4_000

interface Trickle {
  readonly rate: number
  readonly p50: number
  readonly p99: number
  /** Microseconds per push, of the Hub and of PostgreSQL. */
  readonly cpu: number
  readonly cpuOfHub: number
  readonly commits: number
}

/** Returns what pushes for a while. */
const tricklerOf = async (
  pair: LinkPair,
  hub: { readonly url: string; readonly pid: number },
  kind: string
) => {
  const { act, devices, projectId, pushers } = pair
  const all = await devices(LINKS)
  const ask = await pushers(hub.url, kind)
  await ask({ connect: all })
  return async (): Promise<Trickle> => {
    const push = []
    for (const { deviceId } of all) {
      const runId =
        kind === "bare" ? mint<RunId>("run", Date.now()) : (await act(createRunOf(projectId, deviceId))).runId
      push.push({ deviceId, runId, firstSeq: 2 })
    }
    const database = await databaseActivity(pair)
    const cpuOfDatabase = () => cpuOfAll(database.pids)
    const before = { hub: cpuMicrosOf(hub.pid), database: cpuOfDatabase() }
    const { ms = 0, p50 = 0, p99 = 0, pushed = 0 } = await ask({ push, millis: MILLIS })
    const cpuOfHub = cpuMicrosOf(hub.pid) - before.hub
    const cpu = cpuOfHub + cpuOfDatabase() - before.database
    const { commits } = await databaseActivity(pair)
    return {
      rate: (pushed * 1_000) / ms,
      p50,
      p99,
      cpu: cpu / pushed,
      cpuOfHub: cpuOfHub / pushed,
      commits: (commits - database.commits) / pushed
    }
  }
}

export const measureTrickle = (options: LinkBenchOptions, report: Report): Promise<void> =>
  withLinkPairs(options, async (pairs) => {
    const bare = await pairs.edge.floor()
    const tricklers = await eachSide(options, (side) => {
      if (isFloor(side)) return tricklerOf(pairs.edge, bare, "bare")
      const pair = pairOf(pairs, side)
      return tricklerOf(pair, pair.hub, "hub")
    })
    const measure = (side: BenchSide) => on(tricklers, side)()
    await interleave(1, measure, sidesOf(options))
    const taken = await interleave(options.rounds, measure, sidesOf(options))
    const { rounds } = options
    const add = (
      figure: string,
      unit: string,
      of: (trickle: Trickle) => number,
      goal?: ReturnType<typeof atLeast>
    ) =>
      report.add({
        figure,
        unit,
        ...compared(taken, of),
        rounds,
        ...(goal === undefined ? {} : { goal })
      })
    add(`small pushes acknowledged, ${LINKS} links`, "/s", ({ rate }) => rate, atLeast(4_000))
    add(`small push until its acknowledgement, p50, ${LINKS} links`, "ms", ({ p50 }) => p50)
    add(`small push until its acknowledgement, p99, ${LINKS} links`, "ms", ({ p99 }) => p99, atMost(100))
    add("CPU of Hub and PostgreSQL per small push", "µs", ({ cpu }) => cpu, atMost(300))
    add("CPU of the Hub alone per small push", "µs", ({ cpuOfHub }) => cpuOfHub)
    add("commits per small push", "", ({ commits }) => commits)
  })
