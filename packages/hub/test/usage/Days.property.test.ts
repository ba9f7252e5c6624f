/** The day that each run counts for, in 12 time zones, against the clock of PostgreSQL, which has its own rules of daylight saving. */
import type { ProjectId, RunId, UserId } from "@corral/domain/identity/Ids"
import type { Day } from "@corral/domain/usage/Day"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { createRun, Mirror, newId } from "@corral/testing/hub/Mirror"
import { query } from "@corral/testing/postgres/OutsidePostgres"
import { effort } from "@corral/testing/time/Effort"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as fc from "fast-check"
import { RunLog } from "../../src/run/RunLog.ts"
import { findLimitedProject, reserveStart } from "../../src/usage/Reservations.ts"
import { UsageReports } from "../../src/usage/UsageReports.ts"

const zones = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "America/St_Johns",
  "America/Santiago",
  "America/Havana",
  "Africa/Cairo",
  "Asia/Beirut",
  "Asia/Kathmandu",
  "Australia/Lord_Howe",
  "Pacific/Chatham",
  "Pacific/Kiritimati"
] as const

const HOUR = 3_600_000
/** Around the changes of 2026 in these zones, and any time of the year. */
const changes = ["03-08", "03-29", "04-05", "04-24", "09-06", "09-27", "10-04", "10-25", "10-30", "11-01"]
const moment = fc.oneof(
  fc.integer({ min: Date.UTC(2026, 0, 2), max: Date.UTC(2026, 11, 30) }),
  fc
    .tuple(fc.constantFrom(...changes), fc.integer({ min: -30 * HOUR, max: 30 * HOUR }))
    .map(([date, offset]) => Date.parse(`2026-${date}T00:00:00Z`) + offset)
)

describe("The day of a run", () => {
  const hub = new HubInProcess()
  let author: UserId
  beforeAll(async () => {
    await hub.start()
    const { userId } = await hub.signedIn("ada")
    assert.isDefined(userId)
    author = userId
  })
  afterAll(() => hub.remove())

  /** Opens a run at each of the times, and returns the runs of each day of the project's reports. */
  const runsByDay = (projectId: ProjectId, times: ReadonlyArray<number>) =>
    hub.people.act(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const log = yield* RunLog
        const reports = yield* UsageReports
        const mirror = new Mirror(hub)
        for (const at of times) {
          const start = { projectId, author, budget: undefined }
          const reservation = yield* reserveStart(
            sql,
            yield* findLimitedProject(sql, start),
            start,
            new Date(at)
          )
          const id = newId<RunId>("run")
          yield* log.open({ id, projectId, targetId: mirror.targetId, create: createRun, reservation })
        }
        const report = (from: Day, to: Day) => reports.report(author, { projectId, from, to, by: "day" })
        const { rows, total } = yield* report("2025-12-31", "2026-12-31")
        assert.strictEqual(total.runs, times.length)
        return new Map(rows.map(({ day, runs }) => [day, runs]))
      })
    )

  it.each(zones)("is the date in %s when it starts", async (zone) => {
    await fc.assert(
      fc.asyncProperty(fc.array(moment, { minLength: 1, maxLength: 20 }), async (times) => {
        const projectId = await new Mirror(hub).project(author)
        const { databaseUrl = "" } = hub
        await query(databaseUrl, `UPDATE projects SET time_zone = '${zone}' WHERE id = '${projectId}'`)
        const expected = new Map<unknown, number>()
        for (const { day } of await query(
          databaseUrl,
          `SELECT to_char(to_timestamp(ms / 1000.0) AT TIME ZONE '${zone}', 'YYYY-MM-DD') AS day
           FROM unnest(ARRAY[${times.join(", ")}]::float8[]) AS ms`
        ))
          expected.set(day, (expected.get(day) ?? 0) + 1)
        assert.deepStrictEqual(await runsByDay(projectId, times), expected)
      }),
      { numRuns: 8 * effort }
    )
  })
})
