/**
 * Notices about limits: once 80 % of a limit is used on a day, and once all of it, people are notified through the change feed.
 *
 * Guarantees: each notice of a limit and a day is sent once, by one of the Hubs. One that a stopped Hub did not send is sent within minutes.
 * Does not: count reservations, since a run may use much less than it has reserved.
 */
import { type ProjectId, UserId } from "@corral/domain/identity/Ids"
import { dayIn } from "@corral/domain/usage/Day"
import { Coalesced } from "@corral/service/Coalesced"
import { Clock, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { announced, Notices } from "../store/Notices.ts"
import { doSharedWork } from "../store/SharedWork.ts"
import { storedRows } from "../store/StoredRows.ts"
import { limitLockWait, sweepRows } from "../store/Sweep.ts"
import { limitRows, limitsWhere, usesOfDay } from "./LimitRow.ts"
import { usesOfLimits } from "./UsageLimits.ts"

const zoneRows = storedRows("projects", Schema.Struct({ time_zone: Schema.String }))
const LimitedProject = Schema.Struct({ project_id: Schema.String })
type LimitedProject = typeof LimitedProject.Type
const limitedRows = storedRows("project_limits", LimitedProject)

/** Notes the limits of the project that are nearly or completely used up today, and notifies of those that were not before. */
const noteLimits = Effect.fn("LimitNotices.noteLimits")(function* (
  sql: SqlClient.SqlClient,
  projectId: ProjectId | string,
  at: Date
) {
  const limits = yield* limitRows.all(limitsWhere(sql, projectId))
  if (limits.length === 0) return
  const zone = yield* zoneRows.first(sql`SELECT time_zone FROM projects WHERE id = ${projectId}`)
  if (zone === undefined) return
  const day = dayIn(zone.time_zone, at.getTime())
  const due = usesOfLimits(limits, yield* usesOfDay(sql, projectId, day)).filter(
    ({ state }) => state !== "open"
  )
  if (due.length === 0) return
  yield* announced(
    sql,
    "limit",
    sql`
      INSERT INTO limit_notices AS n (project_id, subject, day, state, at)
      SELECT ${projectId}, d.subject, ${day}, d.state, ${at} FROM unnest(
        ${due.map(({ subject }) => subject)}::text[], ${due.map(({ state }) => state)}::text[]
      ) AS d (subject, state) JOIN projects p ON p.id = ${projectId}
      ON CONFLICT (project_id, subject, day) DO UPDATE SET state = EXCLUDED.state, at = EXCLUDED.at
        WHERE n.state = 'near' AND EXCLUDED.state = 'reached'
      RETURNING n.project_id || ' ' || n.subject || ' ' || n.day AS id`
  )
})

const WEEK_MS = 7 * 86_400_000

export const limitNoticesLayer = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const clock = yield* Clock.Clock
    const notices = yield* Notices
    const now = () => new Date(clock.currentTimeMillisUnsafe())
    const due = new Set<string>()
    const passes = yield* Coalesced.make
    notices.follow({
      onNotice: (kind, id, isOwn) => {
        // The Hub that caused the notice looks.
        if (kind !== "usage" || !isOwn) return
        due.add(id)
        passes.wake()
      },
      onMissed: () => undefined
    })
    // Each project in its transaction: locked rows delay no other project.
    const noteAll = (projects: ReadonlyArray<LimitedProject>) =>
      sweepRows({
        page: (after) => Effect.succeed(after === "" ? projects : []),
        keyOf: ({ project_id }) => project_id,
        visit: ({ project_id }, patienceMs) =>
          limitLockWait(sql, patienceMs).pipe(
            Effect.andThen(noteLimits(sql, project_id, now())),
            sql.withTransaction,
            Effect.as(true)
          ),
        failure: "failed to note limits"
      })
    const noteDue = Effect.suspend(() => {
      const projects = [...due].map((project_id) => ({ project_id }))
      due.clear()
      return Effect.asVoid(noteAll(projects))
    })
    yield* passes.run(noteDue, (cause) => Effect.logWarning("failed to note limits", cause))
    const sweep = Effect.gen(function* () {
      yield* sql`DELETE FROM limit_notices WHERE at < ${new Date(now().getTime() - WEEK_MS)}`
      const limited = yield* limitedRows.all(
        sql`SELECT DISTINCT project_id FROM project_limits ORDER BY project_id`
      )
      yield* noteAll(limited)
    })
    yield* doSharedWork("limits", "2 minutes", sweep)
  })
)

/** Whose limit it is, as a hint names it. */
export const NoticeSubject = Schema.Union([Schema.Literal("everyone"), UserId])
