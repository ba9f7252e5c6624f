/**
 * Limits of projects for each day, and their use today. Notices about them: once 80 % of a limit is used on a day, and once all of it, people are
 * notified through the change feed.
 *
 * Guarantees: a limit is set only where the project's `runBudget` has the same kind of limit. Each notice of a
 * limit and a day is sent once, by one of the Hubs. One that a stopped Hub did not send is sent within minutes.
 * Does not: open transactions; callers run writes in one. Does not end runs: those that have started keep their budgets.
 * Does not count reservations in notices, since a run may use much less than it has reserved.
 */
import type { Proof } from "@corral/domain/access/Authorization"
import { Conflict, PermissionDenied, SchemaValidationFailed } from "@corral/domain/errors/Failures"
import { type ProjectId, UserId } from "@corral/domain/identity/Ids"
import { Budget } from "@corral/domain/run/Budget"
import { dayIn, endOfDayIn } from "@corral/domain/usage/Day"
import {
  type LimitSubject,
  limitStateOf,
  type LimitUse,
  type ProjectLimit,
  type ProjectLimits,
  type SetLimit
} from "@corral/domain/usage/Limit"
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Coalesced } from "@corral/service/Coalesced"
import { notify, announced, Notices } from "../store/Notices.ts"
import { jsonColumn, storedRows } from "../store/StoredRows.ts"
import {
  amountOf,
  amountsText,
  hasLimit,
  limitedFields,
  limitOfPerson,
  type LimitRow,
  limitRows,
  limitsWhere,
  type PersonUse,
  useOf,
  usesOfDay,
  valueOf
} from "./LimitRow.ts"
import { doSharedWork } from "../store/SharedWork.ts"
import { limitLockWait, sweepRows } from "../store/Sweep.ts"

const limitedProjectRows = storedRows(
  "projects",
  Schema.Struct({ time_zone: Schema.String, run_budget: Schema.NullOr(jsonColumn(Budget)) })
)

const amountsIn = ({ cost_micros, tokens }: Pick<LimitRow, "cost_micros" | "tokens">): SetLimit => ({
  ...(cost_micros === null ? {} : { costUsd: valueOf("costUsd", cost_micros) }),
  ...(tokens === null ? {} : { tokens })
})

const limitOf = (row: LimitRow): ProjectLimit => ({
  subject: row.subject,
  ...(row.name === null ? {} : { name: row.name }),
  ...amountsIn(row),
  updatedAt: row.updated_at.toISOString()
})

const useUnder = (
  row: LimitRow,
  subject: LimitUse["subject"],
  name: string | null,
  uses: ReadonlyArray<PersonUse>
): LimitUse => {
  const { reserved, used } = useOf(uses, subject)
  const limit = amountsIn(row)
  const shown = amountsText(used)
  return {
    subject,
    ...(name === null ? {} : { name }),
    limit,
    used: shown,
    reserved: amountsText(reserved),
    state: limitStateOf(limit, shown)
  }
}

/** The use of each limit on a day: of everyone, and of the persons. */
const usesOfLimits = (
  limits: ReadonlyArray<LimitRow>,
  uses: ReadonlyArray<PersonUse>,
  reader?: UserId
): ReadonlyArray<LimitUse> => {
  const everyone = limits.find(({ subject }) => subject === "everyone")
  const active = uses.flatMap(({ name, userId }) => (userId === null ? [] : [{ userId, name }]))
  const isActive = (reader: UserId) => active.some(({ userId }) => userId === reader)
  const persons =
    reader === undefined || isActive(reader) ? active : [{ userId: reader, name: null }, ...active]
  return [
    ...(everyone === undefined ? [] : [useUnder(everyone, "everyone", null, uses)]),
    ...persons.flatMap(({ name, userId }) => {
      const limit = limitOfPerson(limits, userId)
      return limit === undefined ? [] : [useUnder(limit, userId, name, uses)]
    })
  ]
}

export class UsageLimits extends Context.Service<
  UsageLimits,
  {
    readonly get: (
      proof: Proof<"project.read">
    ) => Effect.Effect<ProjectLimits, PermissionDenied | SqlError.SqlError>
    readonly set: (
      proof: Proof<"policy.manage">,
      subject: LimitSubject,
      limit: SetLimit
    ) => Effect.Effect<ProjectLimit, Conflict | PermissionDenied | SchemaValidationFailed | SqlError.SqlError>
    /** Without a limit, it has no effect. */
    readonly remove: (
      proof: Proof<"policy.manage">,
      subject: LimitSubject
    ) => Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/hub/UsageLimits") {
  static readonly layer = Layer.effect(
    UsageLimits,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      return UsageLimits.of({
        get: Effect.fnUntraced(function* ({ principal, subject: projectId }) {
          const project = yield* limitedProjectRows.first(
            sql`SELECT time_zone, run_budget FROM projects WHERE id = ${projectId}`
          )
          if (project === undefined) return yield* new PermissionDenied()
          const { run_budget, time_zone: timeZone } = project
          const now = clock.currentTimeMillisUnsafe()
          const day = dayIn(timeZone, now)
          const limits = yield* limitRows.all(limitsWhere(sql, projectId))
          const uses = yield* usesOfDay(sql, projectId, day)
          return {
            // The subject of the proof is a project.
            projectId: projectId as ProjectId,
            timeZone,
            day,
            dayEndsAt: new Date(endOfDayIn(timeZone, now)).toISOString(),
            ...(run_budget === null ? {} : { runBudget: run_budget }),
            limits: limits.map(limitOf),
            today: usesOfLimits(limits, uses, principal as UserId)
          }
        }),

        set: setLimit(sql, () => new Date(clock.currentTimeMillisUnsafe())),

        remove: Effect.fn("UsageLimits.remove")(function* ({ subject: projectId }, subject) {
          yield* sql`DELETE FROM project_limits WHERE project_id = ${projectId} AND subject = ${subject}`
          yield* forgetNotices(sql, projectId, subject)
        })
      })
    })
  )
}

const setLimit = (sql: SqlClient.SqlClient, now: () => Date): UsageLimits["Service"]["set"] =>
  Effect.fn("UsageLimits.set")(function* ({ subject: projectId }, subject, limit) {
    // Another transaction can change the project's budget meanwhile.
    const project = yield* limitedProjectRows.first(
      sql`SELECT time_zone, run_budget FROM projects WHERE id = ${projectId} FOR NO KEY UPDATE`
    )
    if (project === undefined) return yield* new PermissionDenied()
    const issues = limitedFields
      .filter((field) => limit[field] !== undefined && !hasLimit(project.run_budget, field))
      .map((field) => ({
        path: field,
        message: `Set ${field} in the project's runBudget first. A run without a budget reserves it.`
      }))
    if (issues.length > 0) return yield* new SchemaValidationFailed({ details: { issues } })
    if (subject !== "everyone" && subject !== "each") {
      const members = yield* sql`
        SELECT 1 FROM project_members WHERE project_id = ${projectId} AND user_id = ${subject}`
      if (members.length === 0) return yield* new Conflict({ message: "This user is not a project member." })
    }
    const row = {
      project_id: projectId,
      subject,
      cost_micros: limit.costUsd === undefined ? null : amountOf("costUsd", limit.costUsd),
      tokens: limit.tokens ?? null,
      updated_at: now()
    }
    yield* sql`
      INSERT INTO project_limits ${sql.insert(row)} ON CONFLICT (project_id, subject) DO UPDATE
      SET cost_micros = EXCLUDED.cost_micros, tokens = EXCLUDED.tokens, updated_at = EXCLUDED.updated_at`
    yield* forgetNotices(sql, projectId, subject)
    const stored = yield* limitRows.first(limitsWhere(sql, projectId, [subject]))
    return stored === undefined ? yield* new PermissionDenied() : limitOf(stored)
  })

/** A changed limit notifies again. Takes the rows in the order in which `noteLimits` writes them: the two never deadlock. */
const forgetNotices = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  projectId: string,
  subject: LimitSubject
) {
  yield* sql`
    WITH forgotten AS MATERIALIZED (
      SELECT subject, day FROM limit_notices WHERE project_id = ${projectId}
        AND ${subject === "each" ? sql`subject <> 'everyone'` : sql`subject = ${subject}`}
      ORDER BY subject, day FOR UPDATE
    )
    DELETE FROM limit_notices n USING forgotten f
    WHERE n.project_id = ${projectId} AND n.subject = f.subject AND n.day = f.day`
  yield* notify(sql, "usage", projectId)
})

const zoneRows = storedRows("projects", Schema.Struct({ time_zone: Schema.String }))
const LimitedProject = Schema.Struct({ project_id: Schema.String })
type LimitedProject = typeof LimitedProject.Type
const limitedRows = storedRows("project_limits", LimitedProject)

/** Notes the limits of the project that are nearly or completely used up today, and notifies of those that were not before. */
const noteLimits = Effect.fn("UsageLimits.noteLimits")(function* (
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
      ) AS d (subject, state) JOIN projects p ON p.id = ${projectId} ORDER BY d.subject
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
