/**
 * A page of 50 of 100,000 sessions, the first one and one near the end: the Hub beside the floor, and beside the bare query through `pg` in
 * this process, which has no server between. The list as its service gives it, in this process too, stands beside the same query.
 */
import { prove } from "@corral/domain/access/Authorization"
import { Sessions } from "@corral/hub/session/Sessions"
import type { Position } from "@corral/hub/store/ListPage"
import { Effect } from "effect"
import { Pool } from "pg"
import type { BenchSide } from "../Builds.ts"
import { compared, interleave, on, sidesOf } from "../Pair.ts"
import { cpuMicrosOf } from "../ProcessFigures.ts"
import type { Goal, Report } from "../Report.ts"
import { atLeastOfFloor, atMost } from "../Report.ts"
import { median, quantile } from "../Statistics.ts"
import type { HubBenchOptions } from "./HubBench.ts"
import { type HubPair, ROWS, withHubPair } from "./HubPair.ts"
import { Client, take, type Taken } from "./Requests.ts"

const COUNT = 1_000
const AT_ONCE = 8
const LIMIT = 50

interface Page {
  readonly items: ReadonlyArray<{ readonly id: string; readonly updatedAt: string }>
  readonly nextCursor: string | null
}

interface Deep {
  readonly cursor: string
  readonly at: string
  readonly id: string
}

/** A request, and the process that answers it. */
interface PageRequest {
  readonly pid: number
  readonly ask: () => Promise<unknown>
}

type Compared = ReturnType<typeof compared>

/** The cursor of a page that starts after nine tenths of the list, and where that is. */
const deepCursor = async ({ projectId, sides }: HubPair, client: Client): Promise<Deep> => {
  const walk = `${sides.edge.url}/client/sessions?projectId=${projectId}&limit=200`
  let page = JSON.parse(await client.body(walk)) as Page
  for (let seen = 200; seen < ROWS * 0.9; seen += 200) {
    page = JSON.parse(await client.body(`${walk}&cursor=${page.nextCursor}`)) as Page
  }
  const last = page.items.at(-1)
  if (last === undefined || page.nextCursor === null) throw new Error("the list is too short")
  return { cursor: page.nextCursor, at: last.updatedAt, id: last.id }
}

const rawPage = (
  pool: Pool,
  projectId: string,
  after: { readonly at: string; readonly id: string } | undefined
) =>
  pool.query({
    name: after === undefined ? "first" : "deep",
    text: `SELECT id, project_id, title, state, updated_at FROM sessions WHERE project_id = $1
           ${after === undefined ? "" : "AND (updated_at, id) < ($3, $4)"} ORDER BY updated_at DESC, id DESC LIMIT $2`,
    values: after === undefined ? [projectId, LIMIT] : [projectId, LIMIT, after.at, after.id]
  })

/** The list as the request handler reads it, with all items. */
const servicePages = async ({ act, projectId }: HubPair) => {
  const claim = { principal: "usr_bench", subject: projectId }
  const { proof, sessions } = await act(
    Effect.all({
      proof: Effect.orDie(Effect.fromResult(prove("project.read", claim, undefined))),
      sessions: Sessions
    })
  )
  return (after: Position | undefined) => Effect.runPromise(sessions.list(proof, undefined, after, LIMIT))
}

/** Requests of the first or the deep page, per side, and the same query in this process. */
const pageOf = async (pair: HubPair, client: Client, pool: Pool, after: Deep | undefined) => {
  const servicePage = await servicePages(pair)
  const query = `projectId=${pair.projectId}&limit=${LIMIT}`
  const position = { edge: `&cursor=${after?.cursor}`, floor: `&at=${after?.at}&id=${after?.id}` }
  const request = (side: BenchSide) => {
    const { pid, url } = on(pair.sides, side)
    const rest = after === undefined ? "" : position[side === "floor" ? "floor" : "edge"]
    return { pid, ask: () => client.body(`${url}/client/sessions?${query}${rest}`) }
  }
  return {
    request,
    service: { pid: process.pid, ask: () => servicePage(after) },
    raw: { pid: process.pid, ask: () => rawPage(pool, pair.projectId, after) }
  }
}

type Page50 = Awaited<ReturnType<typeof pageOf>>

const measure = async ({ ask, pid }: PageRequest, count = COUNT) => {
  const before = cpuMicrosOf(pid)
  const taken = await take(count, AT_ONCE, ask)
  return { ...taken, cpu: (cpuMicrosOf(pid) - before) / count }
}

/** All that is compared, measured in turns. */
const measurePage = async ({ raw, request, service }: Page50, options: HubBenchOptions) => {
  const sides = sidesOf(options)
  for (const requested of [...sides.map(request), service, raw]) await measure(requested, COUNT / 2)
  const inProcess: Array<Readonly<Record<"raw" | "service", Taken>>> = []
  const served = await interleave(
    options.rounds,
    async (side) => {
      // Once a round.
      if (side === "floor") inProcess.push({ raw: await measure(raw), service: await measure(service) })
      return measure(request(side))
    },
    sides
  )
  return { served, raw: inProcess.map((each) => each.raw), service: inProcess.map((each) => each.service) }
}

type MeasuredPage = Awaited<ReturnType<typeof measurePage>>

const rateOf = ({ rate }: Taken): number => rate
const p99Of = ({ times }: Taken): number => quantile(times, 0.99)

const addPage = (report: Report, what: string, page: MeasuredPage, rounds: number): void => {
  const { raw, served, service } = page
  const goal = atLeastOfFloor(0.4)
  const add = (name: string, unit: string, figures: Compared, aim?: Goal) =>
    report.add({ figure: `${what}, ${name}`, unit, ...figures, rounds, ...(aim && { goal: aim }) })
  add("pages a second", "/s", compared(served, rateOf), goal)
  add("beside the bare query", "/s", compared({ ...served, floor: raw }, rateOf), goal)
  const inProcess = compared({ edge: service, floor: raw }, rateOf)
  add("service beside the same query, both in process", "/s", inProcess, goal)
  add("p99", "ms", compared(served, p99Of))
  add(
    "server CPU",
    "µs",
    compared(served, ({ cpu }) => cpu)
  )
}

const addDistance = (report: Report, first: MeasuredPage, deep: MeasuredPage, rounds: number): void => {
  const ratio = (side: "edge" | "floor") =>
    median(deep.served[side].map(p99Of)) / median(first.served[side].map(p99Of))
  report.add({
    figure: "p99 of a deep page over that of the first",
    unit: "×",
    edge: ratio("edge"),
    floor: ratio("floor"),
    rounds,
    goal: atMost(1.2)
  })
}

export const measureLists = (options: HubBenchOptions, report: Report): Promise<void> =>
  withHubPair(options, async (pair) => {
    const client = new Client(pair.token, AT_ONCE)
    const pool = new Pool({ host: pair.sockets, user: "corral", database: "postgres", max: AT_ONCE })
    const pages = async (after: Deep | undefined) =>
      measurePage(await pageOf(pair, client, pool, after), options)
    try {
      const [first, deep] = [await pages(undefined), await pages(await deepCursor(pair, client))]
      addPage(report, "first page", first, options.rounds)
      addPage(report, "deep page", deep, options.rounds)
      addDistance(report, first, deep, options.rounds)
    } finally {
      client.close()
      await pool.end()
    }
  })
