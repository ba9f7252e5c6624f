/** What the end of a run costs the machine: searches of all processes, and where they are made. */
import { assert, describe, it } from "@effect/vitest"
import type { EdgeClient } from "@corral/testing/edge/EdgeClient"
import { openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { PrometheusText } from "@corral/testing/http/PrometheusText"
import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"

const METRICS_TOKEN = "a-token-of-more-than-32-characters"
/** From the beginning of one search to that of the next, at least. */
const SEARCH_INTERVAL_MS = 50
const env = { CORRAL_EDGE_CANCEL_GRACE_MS: "2000", CORRAL_METRICS_TOKEN: METRICS_TOKEN }

/** Searches so far. */
const searchesOf = async (client: EdgeClient): Promise<number> => {
  const response = await fetch(`${client.url}/metrics`, {
    headers: { authorization: `Bearer ${METRICS_TOKEN}` }
  })
  const { samples } = new PrometheusText(await response.text())
  // Absent before the first one.
  return samples.find(({ name }) => name === "corral_edge_process_searches_total")?.value ?? 0
}

/** Listings of /proc on this thread during `work`. */
const listingsOf = async (work: () => Promise<void>): Promise<number> => {
  const { readdirSync } = fs
  let listings = 0
  // Called with one parameter, or with options that change nothing here.
  fs.readdirSync = ((...args: Parameters<typeof readdirSync>) => {
    if (args[0] === "/proc") listings++
    return readdirSync(...args)
  }) as typeof readdirSync
  syncBuiltinESMExports()
  try {
    await work()
    return listings
  } finally {
    fs.readdirSync = readdirSync
    syncBuiltinESMExports()
  }
}

describe("The end of a run", () => {
  it("makes one search, and another one only if it found something, in another thread", async () => {
    const { client } = await openEdgeInProcess({ env })
    const before = await searchesOf(client)
    const listings = await listingsOf(async () => {
      for (let run = 0; run < 3; run++)
        await (
          await client.follow({ runId: (await client.create("/say hello")).id })
        ).ended
      const { id } = await client.create("/say ready\n/hang")
      const reader = await client.follow({ runId: id })
      await reader.event("run.message.completed")
      await client.cancel(id)
      await reader.ended
    })
    const searches = (await searchesOf(client)) - before
    // One for each of the four ends, and one more where the first has found a process that was still ending.
    assert.isAtLeast(searches, 4)
    assert.isAtMost(searches, 8)
    assert.strictEqual(listings, 0)
  })

  it("shares a search with the runs that end at the same time", async () => {
    const { client } = await openEdgeInProcess({ env })
    const readers = await Promise.all(
      Array.from({ length: 12 }, async () => {
        const reader = await client.follow({ runId: (await client.create("/say ready\n/hang")).id })
        await reader.event("run.message.completed", 30_000)
        return reader
      })
    )
    const before = await searchesOf(client)
    const startedAt = performance.now()
    await Promise.all(readers.map(({ events }) => client.cancel(events[0]?.runId ?? "")))
    await Promise.all(readers.map(({ ended }) => ended))
    const searches = (await searchesOf(client)) - before
    // On a busy machine they end further apart than two searches begin.
    const most = Math.floor((performance.now() - startedAt) / SEARCH_INTERVAL_MS) + 1
    assert.isAtMost(searches, Math.max(most, readers.length - 1))
  })
})
