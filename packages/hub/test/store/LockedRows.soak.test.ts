/** Every kind of row, held by another program or by a Hub that is paused: requests that need it are refused within seconds, and others are answered. */
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { HubProcess } from "@corral/testing/hub/HubProcess"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { answerMsOf, holdRows, loadOf, openBusy, serveOther, tablesOf } from "../harness/HeldRows.ts"
import { worldOf } from "../link/World.ts"

/** More than the connections of a Hub. */
const REQUESTS = 30
/** Time in which the requests of a Hub come to wait for a row. */
const PILE_UP_MS = 300

const pileUp = () => new Promise((resolve) => setTimeout(resolve, PILE_UP_MS))

describe("Rows that another program holds", { timeout: 1_200_000 }, () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  it("delay nothing of others, of whichever table they are", async () => {
    const failed: Array<string> = []
    const answerMs = await answerMsOf(hub)
    for (const table of await tablesOf(hub)) {
      const busy = await openBusy(hub)
      const release = await holdRows(hub, table)
      const load = loadOf(busy, REQUESTS, hub)
      await serveOther(hub, await worldOf(hub), answerMs).catch((error) =>
        failed.push(`${table}: ${String(error)}`)
      )
      await release()
      await load.end().catch((error) => failed.push(`${table}, its own requests: ${String(error)}`))
    }
    assert.deepStrictEqual(failed, [])
  })
})

describe("Rows that a paused Hub holds", { timeout: 1_200_000 }, () => {
  const [paused, hub] = [new HubProcess(), new HubProcess()]
  beforeAll(async () => {
    await hub.start()
    paused.databaseUrl = hub.databaseUrl
    await paused.start()
  })
  afterAll(async () => {
    await paused.remove()
    await hub.remove()
  })

  it("delay nothing of others, of whichever table they are", async () => {
    const failed: Array<string> = []
    const answerMs = await answerMsOf(hub)
    for (const table of await tablesOf(hub)) {
      const busy = await openBusy(hub)
      const release = await holdRows(hub, table)
      const itsLoad = loadOf(busy, REQUESTS, paused, true)
      const world = await worldOf(hub)
      await pileUp()
      process.kill(paused.pid, "SIGSTOP")
      // Its transactions receive the rows, and do not end.
      await release()
      const load = loadOf(busy, REQUESTS, hub)
      await serveOther(hub, world, answerMs).catch((error) => failed.push(`${table}: ${String(error)}`))
      process.kill(paused.pid, "SIGCONT")
      for (const each of [load, itsLoad])
        await each.end().catch((error) => failed.push(`${table}, its own requests: ${String(error)}`))
    }
    assert.deepStrictEqual(failed, [])
  })
})
