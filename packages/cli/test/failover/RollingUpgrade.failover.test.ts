/**
 * Three Hubs of the previous release, with an Edge of that release, are replaced one after the other by this build, while people work.
 * `CORRAL_PREVIOUS_DIST` names the folder `dist` of that release.
 */
import { openPostgres, query } from "@corral/testing/postgres/OutsidePostgres"
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { assertAnswer, HubClient } from "@corral/testing/hub/HubClient"
import { builtHub } from "@corral/testing/hub/HubProcess"
import { type Joined, openJoined } from "@corral/testing/stack/Joined"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { duringRun } from "../joined/Chaos.ts"
import { SteadyWork } from "./SteadyWork.ts"

const LATER_SETTINGS = new Set(["CORRAL_EDGE_ORPHAN_MS", "CORRAL_EDGE_CONFINEMENT"])
const previous = process.env["CORRAL_PREVIOUS_DIST"]
const LINK_DOWN_LIMIT_MS = 10_000
const LOOK_EVERY_MS = 50
/** Work of people at each stage of the upgrade. */
const STAGE_MS = 4_000

/** An Edge of the previous release, which does not know later settings. */
class PreviousEdge extends EdgeProcess {
  override entry = join(previous ?? "", "edge/index.js")

  protected override get environment(): Readonly<Record<string, string>> {
    return Object.fromEntries(Object.entries(super.environment).filter(([name]) => !LATER_SETTINGS.has(name)))
  }
}

/** Longest time in milliseconds that the Edge was without a link, from now until the returned function is called. */
const watchLink = ({ edge }: Joined): (() => Promise<number>) => {
  let longest = 0
  let lostAt: number | undefined
  const over = new AbortController()
  const watching = (async () => {
    while (!over.signal.aborted) {
      const health = await edge.client.ask("GET", "/health").catch(() => undefined)
      const { link } = (health?.body ?? {}) as { readonly link?: { readonly state: string } }
      if (link?.state === "linked") lostAt = undefined
      else {
        lostAt ??= performance.now()
        longest = Math.max(longest, performance.now() - lostAt)
      }
      await pause(LOOK_EVERY_MS)
    }
  })()
  return async () => {
    over.abort()
    await watching
    return longest
  }
}

/** Each Hub sees the device online, whichever Hub it is linked to. */
const assertOnlineEverywhere = async (joined: Joined): Promise<void> => {
  for (const { url } of joined.hubs) {
    const { token, userId } = joined.owner
    const client = new HubClient(url, token, userId)
    await joined.online(joined.deviceId, "online", client)
  }
}

describe.skipIf(previous === undefined)("An upgrade from the previous release", () => {
  // Their answers lack what this build has added to the contract.
  beforeAll(() => {
    HubClient.check = undefined
  })
  afterAll(() => {
    HubClient.check = assertAnswer
  })

  it("fails no request that its key does not answer, and loses no link for long", async () => {
    const { url } = await openPostgres()
    const joined = await openJoined({
      databaseUrl: url,
      hubs: 3,
      hubEntry: join(previous ?? "", "hub/index.js"),
      edge: { grants: ["full_access"] },
      makeEdge: (options) => new PreviousEdge(options)
    })
    const work = new SteadyWork(joined)
    await work.start()
    const longestLoss = watchLink(joined)
    const waiting = [...joined.hubs]
    await duringRun(joined, { events: 6_000, rate: 100 }, async () => {
      await pause(STAGE_MS)
      const hub = waiting.shift()
      if (hub === undefined) return
      await hub.end("SIGTERM")
      hub.entry = builtHub
      await hub.start()
      joined.found()
      await assertOnlineEverywhere(joined)
      assert.deepStrictEqual(await query(url, "SELECT linked FROM devices"), [{ linked: true }])
    })
    assert.isEmpty(waiting)
    const lostMs = await longestLoss()
    process.stderr.write(
      `longest loss of the link ${lostMs.toFixed(0)} ms, ${work.repeated} repeated requests\n`
    )
    assert.isBelow(lostMs, LINK_DOWN_LIMIT_MS)
    await work.stop()
    await work.check()
  })

  it("leaves an Edge of this build working with a Hub of the previous release", async () => {
    const { url } = await openPostgres()
    const joined = await openJoined({
      databaseUrl: url,
      hubEntry: join(previous ?? "", "hub/index.js"),
      edge: { grants: ["full_access"] }
    })
    const follower = await duringRun(joined, { events: 500, rate: 100 }, () => pause(500))
    assert.isAtLeast(follower.last, 500)
    const work = new SteadyWork(joined)
    await work.start()
    await pause(STAGE_MS)
    await work.stop()
    await work.check()
  })
})
