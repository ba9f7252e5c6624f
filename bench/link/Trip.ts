/**
 * Both trips of the design over a Hub: how long an event is under way from the program's write to a client of the Hub, durable at both, and
 * how long a click at the Hub takes until the program has gone on, as that client sees it. Beside two bare programs that do the same.
 */
import { mkdirSync } from "node:fs"
import { execFileSync } from "node:child_process"
import { dirname, join } from "node:path"
import { makeHome, removeHome, BenchTarget } from "../Target.ts"
import type { Report } from "../Report.ts"
import { median, quantile } from "../Statistics.ts"
import { type StreamSource, Subscriber } from "../edge/Subscriber.ts"
import { type LinkBenchOptions, type LinkPair, withLinkPair } from "./LinkPair.ts"

const RATE = 100
const SECONDS = 5
const CLICKS = 40

/** A side's way to start a script and to click; `clicks` are the ids of what is waited for, where there are any. */
interface Way {
  readonly source: StreamSource
  readonly path: string
  readonly start: (script: string) => Promise<string>
  readonly click: (runId: string) => Promise<void>
  readonly ask: string
}

interface Named {
  readonly id: string
}

const until = async <A>(look: () => Promise<A | undefined>): Promise<A> => {
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** A real Edge that has joined the Hub, and its device's id. */
const joined = async (pair: LinkPair, entry: string): Promise<string> => {
  const home = join(pair.home, "edge")
  const workspace = join(pair.home, "workspace")
  mkdirSync(home, { mode: 0o700 })
  mkdirSync(workspace)
  const { token } = await pair.signedInCall<{ readonly token: string }>(
    "POST",
    "/client/devices/join-tokens",
    {}
  )
  const corral = join(dirname(entry), "..", "corral", "main.mjs")
  const env = { PATH: process.env.PATH, HOME: home, CORRAL_HOME: home }
  execFileSync(
    process.execPath,
    [corral, "device", "join", "--hub", pair.hub.url, "--name", "bench", "--token-file", "-"],
    {
      env,
      input: `${token}\n`,
      stdio: ["pipe", "ignore", "inherit"]
    }
  )
  await pair.start([entry], {
    ...env,
    CORRAL_EDGE_WORKSPACES: JSON.stringify([{ id: "bench", path: workspace }])
  })
  return until(async () => {
    const { items } = await pair.signedInCall<{
      readonly items: ReadonlyArray<Named & { readonly state: string; readonly name: string }>
    }>("GET", "/client/devices")
    return items.find(({ name, state }) => name === "bench" && state === "online")?.id
  })
}

const ourWay = async (pair: LinkPair, entry: string): Promise<Way> => {
  const { projectId, signedInCall } = pair
  const targetId = await joined(pair, entry)
  await signedInCall("PATCH", `/client/devices/${targetId}`, { sharedWith: [projectId] })
  await signedInCall("POST", `/client/projects/${projectId}/workspaces`, { targetId, workspace: "bench" })
  return {
    source: { side: "edge", url: pair.hub.url, token: pair.token },
    path: "/client/events",
    ask: "/ask",
    start: async (text) => {
      const { id } = await signedInCall<Named>("POST", "/web/agent-tasks", {
        projectId,
        targetId,
        workspace: "bench",
        agentId: "scripted",
        mode: "ask",
        input: { text }
      })
      return until(
        async () => (await signedInCall<{ readonly runId?: string }>("GET", `/client/tasks/${id}`)).runId
      )
    },
    click: async (runId) => {
      const { items } = await signedInCall<{
        readonly items: ReadonlyArray<Named & { readonly state: string }>
      }>("GET", `/client/runs/${runId}/approvals?limit=200`)
      const waiting = items.find(({ state }) => state === "pending")
      if (waiting === undefined) throw new Error("nothing waits for a click")
      clicked = performance.now()
      await signedInCall("POST", `/client/approvals/${waiting.id}/decide`, { decision: "allow" })
    }
  }
}

const bareWay = (url: string): Way => {
  const post = async (path: string, body: object): Promise<Named> => {
    const response = await fetch(url + path, { method: "POST", body: JSON.stringify(body) })
    return (await response.json()) as Named
  }
  return {
    source: { side: "floor", url, token: "none" },
    path: "/client/events",
    ask: "/wait",
    start: async (text) =>
      (await post("/v1/runs", { workspace: "bench", agentId: "scripted", mode: "ask", input: { text } })).id,
    click: async (runId) => {
      clicked = performance.now()
      await post(`/v1/runs/${runId}/input`, { text: "go" })
    }
  }
}

/** `performance.now()` of the last click. */
let clicked = 0

const latenciesOf = async ({ path, source, start }: Way): Promise<ReadonlyArray<number>> => {
  const runId = await start(`/sleep 300\n/stream ${RATE * SECONDS} ${RATE} 100`)
  const reader = await Subscriber.open(source, { path, runId, latencies: true })
  await reader.closed
  if (reader.faults > 0 || reader.deltas < RATE * SECONDS)
    throw new Error(
      `${source.side}: ${reader.missing} missing, ${reader.repeated} repeated, ${reader.deltas} deltas`
    )
  return reader.latencies
}

/** From each click to the word that the program says next. */
const clicksOf = async ({ ask, click, path, source, start }: Way): Promise<ReadonlyArray<number>> => {
  const runId = await start(`/sleep 300\n${`${ask}\n`.repeat(CLICKS)}/say over`)
  const taken: Array<number> = []
  let heard: (type: string) => void = () => undefined
  const reader = await Subscriber.open(source, { path, runId, onEvent: (_, type) => heard(type) })
  const next = (wanted: (type: string) => boolean): Promise<void> =>
    new Promise((resolve) => {
      heard = (type) => wanted(type) && resolve()
    })
  const asked = ask === "/ask" ? "run.approval.requested" : "run.started"
  const goesOn = ask === "/ask" ? "run.approval.requested" : "run.message.completed"
  await next((type) => type === asked)
  for (let i = 0; i < CLICKS - 1; i++) {
    const gone = next((type) => type === goesOn)
    await click(runId)
    await gone
    taken.push(performance.now() - clicked)
  }
  await click(runId)
  await reader.closed
  return taken
}

export const measureTrip = (options: LinkBenchOptions, report: Report): Promise<void> =>
  withLinkPair(options, async (pair) => {
    const home = makeHome()
    const bareEdge = await BenchTarget.start("floor", home, options)
    try {
      const ours = await ourWay(pair, options.entry)
      const bare = bareWay((await pair.floor({ url: bareEdge.url, token: bareEdge.token })).url)
      const taken = { ours: [] as Array<ReadonlyArray<number>>, bare: [] as Array<ReadonlyArray<number>> }
      for (const way of [ours, bare]) await latenciesOf(way)
      for (let round = 0; round < options.rounds; round++) {
        taken.ours.push(await latenciesOf(ours))
        taken.bare.push(await latenciesOf(bare))
      }
      for (const [name, at] of [
        ["p50", 0.5],
        ["p99", 0.99]
      ] as const)
        report.add({
          figure: `a program's write to a client of the Hub, ${name} at ${RATE} events/s`,
          unit: "ms",
          edge: median(taken.ours.map((each) => quantile(each, at))),
          floor: median(taken.bare.map((each) => quantile(each, at))),
          lost: 0,
          rounds: options.rounds
        })
      const clicks = { ours: [] as Array<number>, bare: [] as Array<number> }
      for (let round = 0; round < options.rounds; round++) {
        clicks.ours.push(quantile(await clicksOf(ours), 0.5))
        clicks.bare.push(quantile(await clicksOf(bare), 0.5))
      }
      report.add({
        figure: "a click at the Hub until the program continues, p50",
        unit: "ms",
        edge: median(clicks.ours),
        floor: median(clicks.bare),
        rounds: options.rounds
      })
    } finally {
      await bareEdge.stop()
      removeHome(home)
    }
  })
