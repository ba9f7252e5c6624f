/**
 * A page of 50 of 100,000 sessions, the first one and one near the end: the Hub beside the floor, and beside the bare query through `pg` in
 * this process, which has no server between. The list as its service gives it, in this process too, stands beside the same query.
 */
import { prove } from "@corral/domain/access/Authorization"
import { Sessions } from "@corral/hub/session/Sessions"
import type { Position } from "@corral/hub/store/Position"
import { Effect } from "effect"
import { Pool } from "pg"
import type { Report } from "../Report.ts"
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

/** The cursor of a page that starts after nine tenths of the list, and where that is. */
const deepCursor = async ({ hub, projectId }: HubPair, client: Client) => {
  const walk = `${hub.url}/client/sessions?projectId=${projectId}&limit=200`
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

const makeAsks = async (pair: HubPair, client: Client, pool: Pool) => {
  const deep = await deepCursor(pair, client)
  const servicePage = await servicePages(pair)
  const query = `projectId=${pair.projectId}&limit=${LIMIT}`
  return {
    hubFirst: () => client.body(`${pair.hub.url}/client/sessions?${query}`),
    hubDeep: () => client.body(`${pair.hub.url}/client/sessions?${query}&cursor=${deep.cursor}`),
    floorFirst: () => client.body(`${pair.floor.url}/client/sessions?${query}`),
    floorDeep: () => client.body(`${pair.floor.url}/client/sessions?${query}&at=${deep.at}&id=${deep.id}`),
    serviceFirst: () => servicePage(undefined),
    serviceDeep: () => servicePage(deep),
    rawFirst: () => rawPage(pool, pair.projectId, undefined),
    rawDeep: () => rawPage(pool, pair.projectId, deep)
  }
}

type Asks = Awaited<ReturnType<typeof makeAsks>>
type Measured = Record<keyof Asks, Array<Taken>>

const measure = async (asks: Asks, rounds: number): Promise<Measured> => {
  const taken: Measured = {
    hubFirst: [],
    hubDeep: [],
    floorFirst: [],
    floorDeep: [],
    serviceFirst: [],
    serviceDeep: [],
    rawFirst: [],
    rawDeep: []
  }
  for (const ask of Object.values(asks)) await take(COUNT / 2, AT_ONCE, ask)
  for (let round = 0; round < rounds; round++) {
    const names = Object.keys(asks) as ReadonlyArray<keyof Asks>
    for (const name of round % 2 === 0 ? names : names.toReversed())
      taken[name].push(await take(COUNT, AT_ONCE, asks[name]))
  }
  return taken
}

const addFigures = (report: Report, taken: Measured, rounds: number): void => {
  const rate = (name: keyof Asks) => median(taken[name].map((each) => each.rate))
  const p99 = (name: keyof Asks) => median(taken[name].map(({ times }) => quantile(times, 0.99)))
  const addRate = (figure: string, edge: keyof Asks, floor: keyof Asks) =>
    report.add({
      figure,
      unit: "/s",
      edge: rate(edge),
      floor: rate(floor),
      rounds,
      goal: atLeastOfFloor(0.4)
    })
  for (const [what, hub, floor, service, raw] of [
    ["first page", "hubFirst", "floorFirst", "serviceFirst", "rawFirst"],
    ["deep page", "hubDeep", "floorDeep", "serviceDeep", "rawDeep"]
  ] as const) {
    addRate(`${what}, pages a second`, hub, floor)
    addRate(`${what}, beside the bare query`, hub, raw)
    addRate(`${what}, service beside the same query, both in process`, service, raw)
    report.add({ figure: `${what}, p99`, unit: "ms", edge: p99(hub), floor: p99(floor), rounds })
  }
  report.add({
    figure: "p99 of a deep page over that of the first",
    unit: "×",
    edge: p99("hubDeep") / p99("hubFirst"),
    floor: p99("floorDeep") / p99("floorFirst"),
    rounds,
    goal: atMost(1.2)
  })
}

export const measureLists = (options: HubBenchOptions, report: Report): Promise<void> =>
  withHubPair(options, async (pair) => {
    const client = new Client(pair.token, AT_ONCE)
    const pool = new Pool({ host: pair.sockets, user: "corral", database: "postgres", max: AT_ONCE })
    try {
      addFigures(report, await measure(await makeAsks(pair, client, pool), options.rounds), options.rounds)
    } finally {
      client.close()
      await pool.end()
    }
  })
