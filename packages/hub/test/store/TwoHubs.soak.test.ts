/** Two Hub processes on one database, of which one is paused, or has a machine whose clock is wrong: the other serves every request in time. */
import { HubProcess } from "@corral/testing/hub/HubProcess"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { answerMsOf, loadOf, openBusy, serveOther } from "../harness/HeldRows.ts"
import { TalkingEdge } from "../harness/TalkingEdge.ts"
import { stateOf, type World, worldOf } from "../link/World.ts"

const DEVICES = 5
const REQUESTS = 10
const PAUSE_MS = 60_000
const WRONG_CLOCK_MS = 20_000

/** Options of Node that set the clock of a process off. */
const clockOffBy = (ms: number): Readonly<Record<string, string>> => {
  const text = `const Right = Date; const now = () => Right.now() + ${ms};
    globalThis.Date = class extends Right {
      constructor(...args) { args.length === 0 ? super(now()) : super(...args) }
      static now() { return now() }
    }`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(text)}` }
}

/** A Hub, and another one on its database with that environment. */
const openTwo = async (
  env: Readonly<Record<string, string>> = {}
): Promise<readonly [HubProcess, HubProcess]> => {
  const hub = new HubProcess()
  const other = new HubProcess({ env })
  onTestFinished(async () => {
    await other.remove()
    await hub.remove()
  })
  await hub.start()
  other.databaseUrl = hub.databaseUrl
  await other.start()
  return [hub, other]
}

interface Device {
  readonly world: World
  readonly edge: TalkingEdge
}

/** Devices that are connected to a Hub. */
const connect = (hub: HubProcess): Promise<Array<Device>> =>
  Promise.all(
    Array.from({ length: DEVICES }, async () => {
      const world = await worldOf(hub)
      return { world, edge: await TalkingEdge.link(hub.url, world) }
    })
  )

/** Serves new users for so long, while the devices stay online. */
const serveFor = async (
  millis: number,
  hub: HubProcess,
  devices: ReadonlyArray<Device>,
  answerMs: number
): Promise<void> => {
  const until = performance.now() + millis
  while (performance.now() < until) {
    await serveOther(hub, await worldOf(hub), answerMs)
    await Promise.all(devices.map(({ edge }) => edge.edge.heartbeat()))
    for (const { world } of devices) assert.strictEqual(await stateOf(world), "online")
  }
}

describe("A Hub beside another one", { timeout: 300_000 }, () => {
  it("that is paused under load serves every request in time", async () => {
    const [hub, paused] = await openTwo()
    const devices = await connect(hub)
    const [first, second, shared] = [await openBusy(hub), await openBusy(hub), await openBusy(hub)]
    devices.push(...[first, second, shared].map((busy) => ({ world: busy, edge: busy.edge })))
    const loads = [
      loadOf(first, REQUESTS, hub),
      loadOf(second, REQUESTS, paused, true),
      // Both write to the rows of one project.
      ...[hub, paused].map((each) => loadOf(shared, REQUESTS, each, each === paused))
    ]
    const answerMs = await answerMsOf(hub)
    await serveFor(2_000, hub, devices, answerMs)
    process.kill(paused.pid, "SIGSTOP")
    try {
      await serveFor(PAUSE_MS, hub, devices, answerMs)
    } finally {
      process.kill(paused.pid, "SIGCONT")
    }
    for (const load of loads) await load.end()
    await serveOther(paused, await worldOf(paused), answerMs)
  })

  it.each([120_000, -120_000])("whose clock is off by %i ms serves every request in time", async (ms) => {
    const [hub, other] = await openTwo(clockOffBy(ms))
    const devices = [...(await connect(hub)), ...(await connect(other))]
    const busy = await openBusy(hub)
    devices.push({ world: busy, edge: busy.edge })
    const load = loadOf(busy, REQUESTS, other)
    const answerMs = await answerMsOf(hub)
    for (const each of [hub, other]) await serveFor(WRONG_CLOCK_MS, each, devices, answerMs)
    await load.end()
    const health = await fetch(`${other.url}/health`)
    assert.deepStrictEqual([health.status, await health.json()], [200, { status: "degraded" }])
  })
})
