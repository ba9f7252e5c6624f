/** A list of 100,000 rows that is walked to its end while 1,000 come in a second. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { setTimeout as sleep } from "node:timers/promises"
import { openHub } from "@corral/testing/hub/HubProcess"
import { registerDevice } from "@corral/testing/hub/Offers"
import { walk } from "../harness/Pages.ts"
import { seededLists } from "../harness/SeededLists.ts"
import { makeProject, makeSession } from "@corral/testing/hub/People"

const ROWS = 100_000
const names = ["projects", "sessions of a project", "all sessions", "messages", "devices", "members"] as const

describe("a list of 100,000 rows", () => {
  it.each(names)(
    "of %s misses nothing and shows nothing twice under 1,000 inserts a second",
    async (name) => {
      const hub = await openHub()
      const ada = await hub.signedIn("ada")
      assert.isDefined(ada.userId)
      const { id: projectId } = await makeProject(ada)
      const { id: sessionId } = await makeSession(ada, { id: projectId })
      const { id: targetId } = await registerDevice(ada)
      const list = seededLists({ hub, userId: ada.userId, projectId, sessionId, targetId })[name]
      assert.isDefined(list)
      for (let from = 0; from < ROWS; from += 10_000) await list.insert(from, 10_000, false)
      // What the server does by itself within a minute.
      await hub.people.act(Effect.flatMap(SqlClient.SqlClient, (sql) => sql`ANALYZE`))
      const there = (await walk<never>(ada, list.path, 200)).map(list.key)
      assert.isAtLeast(there.length, ROWS)

      let inserted = 0
      const walked = new AbortController()
      const startedAt = performance.now()
      const inserts = (async () => {
        while (!walked.signal.aborted) {
          // As many as are due by now; the pace is the test's subject.
          const due = Math.floor(performance.now() - startedAt) - inserted
          if (due > 0) await list.insert(ROWS + inserted, due, true)
          inserted += Math.max(0, due)
          await sleep(20)
        }
      })()
      const seen = await walk<never>(ada, list.path, 200)
      walked.abort()
      await inserts

      const distinct = new Set(seen.map(list.key))
      assert.strictEqual(distinct.size, seen.length)
      assert.deepStrictEqual(
        there.filter((one) => !distinct.has(one)),
        []
      )
      assert.isAbove(inserted, 1_000)
    }
  )
})
