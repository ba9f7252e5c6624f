/**
 * Both trips of the design over a Hub: how long an event is under way from the program's write to a client of the Hub, durable at both, and
 * how long a click at the Hub takes until the program has gone on, as that client sees it. Beside two bare programs that do the same.
 */
import { mkdirSync } from "node:fs"
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import {
  type BenchSide,
  type BuildOptions,
  entryOf,
  builtProgram,
  knownSettings,
  isFloor
} from "../Builds.ts"
import { compared, eachSide, interleave, on, sidesOf } from "../Pair.ts"
import { makeHome, removeHome, BenchTarget } from "../Target.ts"
import type { Report } from "../Report.ts"
import { quantile } from "../Statistics.ts"
import { type StreamSource, Subscriber } from "../edge/Subscriber.ts"
import { bareFirstEvent, type FirstEvent, firstEventOfMessage, firstEventOver } from "./FirstEvent.ts"
import { type LinkBenchOptions, type LinkPair, pairOf, withLinkPairs } from "./LinkPair.ts"

const RATE = 100
const TASKS = 15
const SECONDS = 5
const CLICKS = 40
/** Clicks until a program's code for them is compiled: a fresh Hub needs 25 ms for the first ones. */
const WARM_CLICKS = 120

/** A side's way to start a script and to click; `clicks` are the ids of what is waited for, where there are any. */
interface Way {
  readonly source: StreamSource
  readonly path: string
  readonly start: (script: string) => Promise<string>
  readonly click: (runId: string) => Promise<void>
  readonly firstEvent: FirstEvent
  readonly firstEventOfMessage: FirstEvent
  readonly ask: string
}

interface Named {
  readonly id: string
}

export const until = async <A>(look: () => Promise<A | undefined>): Promise<A> => {
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** A real Edge that has joined the Hub, and its device's id. */
const joined = async (pair: LinkPair, options: BuildOptions, side: BenchSide): Promise<string> => {
  const home = join(pair.home, "edge")
  const workspace = join(pair.home, "workspace")
  mkdirSync(home, { mode: 0o700 })
  mkdirSync(workspace)
  const { token } = await pair.signedInCall<{ readonly token: string }>(
    "POST",
    "/client/devices/join-tokens",
    {}
  )
  const corral = builtProgram(options, side, "corral")
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    CORRAL_HOME: home,
    ...knownSettings(options, side, { CORRAL_EDGE_CONFINEMENT: "off" })
  }
  execFileSync(
    process.execPath,
    [corral, "device", "join", "--hub", pair.hub.url, "--name", "bench", "--token-file", "-"],
    {
      env,
      input: `${token}\n`,
      stdio: ["pipe", "ignore", "inherit"]
    }
  )
  await pair.start([entryOf(options, side)], {
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

/** A real Edge whose workspace "bench" is linked to the project, and its device's id. */
export const joinedToProject = async (
  pair: LinkPair,
  options: BuildOptions,
  side: "edge" | "previous"
): Promise<string> => {
  const { projectId, signedInCall } = pair
  const targetId = await joined(pair, options, side)
  await signedInCall("PATCH", `/client/devices/${targetId}`, { sharedWith: [projectId] })
  await signedInCall("POST", `/client/projects/${projectId}/workspaces`, { targetId, workspace: "bench" })
  return targetId
}

const ourWay = async (pair: LinkPair, options: BuildOptions, side: "edge" | "previous"): Promise<Way> => {
  const { projectId, signedInCall } = pair
  const targetId = await joinedToProject(pair, options, side)
  return {
    source: { side, url: pair.hub.url, token: pair.token },
    path: "/client/events",
    ask: "/ask",
    firstEvent: await firstEventOver(pair, targetId),
    firstEventOfMessage: await firstEventOfMessage(pair, targetId),
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
      clickedAt = performance.now()
      await signedInCall("POST", `/client/approvals/${waiting.id}/decide`, { decision: "allow" })
    }
  }
}

const bareWay = async (url: string): Promise<Way> => {
  const post = async (path: string, body: object): Promise<Named> => {
    const response = await fetch(url + path, { method: "POST", body: JSON.stringify(body) })
    return (await response.json()) as Named
  }
  const start = async (text: string): Promise<string> =>
    (await post("/v1/runs", { workspace: "bench", agentId: "scripted", mode: "ask", input: { text } })).id
  return {
    source: { side: "floor", url, token: "none" },
    path: "/client/events",
    ask: "/wait",
    start,
    firstEvent: await bareFirstEvent(url, start),
    firstEventOfMessage: await bareFirstEvent(url, start),
    click: async (runId) => {
      clickedAt = performance.now()
      await post(`/v1/runs/${runId}/input`, { text: "go" })
    }
  }
}

/** `performance.now()` of the last click. */
let clickedAt = 0

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
  let receive: (type: string) => void = () => undefined
  const reader = await Subscriber.open(source, { path, runId, onEvent: (_, type) => receive(type) })
  // The time is taken when the event comes: the answer to the click may come later.
  const next = (wanted: (type: string) => boolean): Promise<number> =>
    new Promise((resolve) => {
      receive = (type) => wanted(type) && resolve(performance.now())
    })
  const requested = ask === "/ask" ? "run.approval.requested" : "run.started"
  const goesOn = ask === "/ask" ? "run.approval.requested" : "run.message.completed"
  await next((type) => type === requested)
  for (let i = 0; i < CLICKS - 1; i++) {
    const resumed = next((type) => type === goesOn)
    await click(runId)
    taken.push((await resumed) - clickedAt)
  }
  await click(runId)
  await reader.closed
  return taken
}

const startsOf = async (firstEvent: FirstEvent): Promise<ReadonlyArray<number>> => {
  const taken: Array<number> = []
  for (let i = 0; i < TASKS; i++) taken.push(await firstEvent())
  return taken
}

export const measureTrip = (options: LinkBenchOptions, report: Report): Promise<void> =>
  withLinkPairs(options, async (pairs) => {
    const home = makeHome()
    const bareEdge = await BenchTarget.start("floor", home, options)
    try {
      const bare = await pairs.edge.floor({ url: bareEdge.url, token: bareEdge.token })
      const ways = await eachSide(options, (side) =>
        isFloor(side) ? bareWay(bare.url) : ourWay(pairOf(pairs, side), options, side)
      )
      const streamed = (rounds: number) =>
        interleave(rounds, (side) => latenciesOf(on(ways, side)), sidesOf(options))
      await streamed(1)
      const taken = await streamed(options.rounds)
      for (const [name, at] of [
        ["p50", 0.5],
        ["p99", 0.99]
      ] as const)
        report.add({
          figure: `a program's write to a client of the Hub, ${name} at ${RATE} events/s`,
          unit: "ms",
          ...compared(taken, (each) => quantile(each, at)),
          lost: 0,
          rounds: options.rounds
        })
      // The path of a click is code that has not run before.
      const clicked = (rounds: number) =>
        interleave(rounds, (side) => clicksOf(on(ways, side)), sidesOf(options))
      await clicked(WARM_CLICKS / CLICKS)
      const clicks = await clicked(options.rounds)
      report.add({
        figure: "a click at the Hub until the program continues, p50",
        unit: "ms",
        ...compared(clicks, (each) => quantile(each, 0.5)),
        rounds: options.rounds
      })
      for (const [what, first] of [
        ["a task", (way: Way) => way.firstEvent],
        ["a message to an agent", (way: Way) => way.firstEventOfMessage]
      ] as const) {
        const started = (rounds: number) =>
          interleave(rounds, (side) => startsOf(first(on(ways, side))), sidesOf(options))
        await started(1)
        const starts = await started(options.rounds)
        report.add({
          figure: `${what} at the Hub until the first event of its run, p50`,
          unit: "ms",
          ...compared(starts, (each) => quantile(each, 0.5)),
          rounds: options.rounds
        })
      }
    } finally {
      await bareEdge.stop()
      removeHome(home)
    }
  })
