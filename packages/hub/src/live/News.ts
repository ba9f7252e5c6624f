/**
 * What changes at the Hub, to everyone in this process who may see it. Notices of other services say where to look; what is there, and
 * who of the readers may see it, is read in one statement: nobody is told by what they were allowed before.
 *
 * One thing after the other: a reader is told of states in the order in which they were. Where changes may have been missed readers are
 * ended, because whoever comes is told the present state first.
 */
import { type HubNews, PRESENT_NEWS } from "@corral/domain/HubNews"
import type { ApprovalId, DeviceId, ProjectId, RunId, TaskId, UserId } from "@corral/domain/Ids"
import type { ApprovalState } from "@corral/domain/Approval"
import type { HubRunStatus } from "@corral/domain/HubRun"
import type { TaskState } from "@corral/domain/Task"
import { Clock, Context, Effect, Layer, Queue } from "effect"
import { SqlClient } from "effect/sql"
import { Devices } from "../device/Devices.ts"
import { type Lease, stateOf } from "../device/Presence.ts"
import { readableRows } from "../store/ReadableList.ts"
import type { NoticeKind } from "../store/Notice.ts"
import type { NewsReader } from "./NewsReader.ts"
import { Notices } from "./Notices.ts"

export class News extends Context.Service<
  News,
  {
    /** Tells the reader the present state, then changes, until the returned function is called. */
    readonly follow: (reader: NewsReader) => () => void
  }
>()("corral/hub/News") {
  static readonly layer = Layer.effect(
    News,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const devices = yield* Devices
      const notices = yield* Notices
      const now = () => clock.currentTimeMillisUnsafe()
      const readers = new Set<NewsReader>()
      const coming = new Set<NewsReader>()
      /** Ids of what may have changed. */
      const due = {
        approval: new Set<string>(),
        device: new Set<string>(),
        project: new Set<string>(),
        run: new Set<string>(),
        task: new Set<string>()
      }
      const more = yield* Queue.sliding<void>(1)
      const wake = () => void Queue.offerUnsafe(more, undefined)

      const tellPresent = Effect.fnUntraced(function* (reader: NewsReader) {
        for (const { id, lastSeenAt, state } of yield* devices.list(
          reader.userId,
          undefined,
          undefined,
          PRESENT_NEWS
        ))
          reader.told({ kind: "device", id, state, ...(lastSeenAt === undefined ? {} : { lastSeenAt }) })
        const pending = yield* readableRows<Moved & { readonly id: ApprovalId }>(sql, {
          table: "approvals",
          columns: "'approval' AS kind, id, run_id, project_id, state",
          reader: reader.userId,
          conditions: [sql`state = 'pending'`],
          order: "newest",
          after: undefined,
          limit: PRESENT_NEWS
        })
        for (const row of pending) reader.told(newsOf(row))
      })

      /** Of another membership follows what of the project is to be told to whoever may see it now. */
      const lookAtProjects = Effect.fnUntraced(function* (projects: ReadonlyArray<string>) {
        const rows = yield* sql<{ readonly kind: "approval" | "device"; readonly id: string }>`
          (SELECT 'approval' AS kind, id FROM approvals
            WHERE project_id = ANY(${projects}::text[]) AND state = 'pending' ORDER BY id DESC LIMIT ${PRESENT_NEWS})
          UNION ALL
          (SELECT 'device', device_id FROM device_projects
            WHERE project_id = ANY(${projects}::text[]) ORDER BY device_id DESC LIMIT ${PRESENT_NEWS})`
        for (const { id, kind } of rows) due[kind].add(id)
      })

      const tell = (users: ReadonlyArray<UserId> | "everyone", news: HubNews) => {
        for (const reader of readers)
          if (users === "everyone" || users.includes(reader.userId)) reader.told(news)
      }
      const userIds = () => [...new Set([...readers].map(({ userId }) => userId))]

      const tellOfDevices = Effect.fnUntraced(function* (ids: ReadonlyArray<string>) {
        const rows = yield* sql<DeviceRow>`
          SELECT d.id, d.lease_until, d.revoked_at, d.last_seen_at, d.owner_id, ARRAY(
            SELECT m.user_id FROM device_projects s JOIN project_members m ON m.project_id = s.project_id
            WHERE s.device_id = d.id AND m.user_id = ANY(${userIds()}::text[])
          ) AS members
          FROM devices d WHERE d.id = ANY(${ids}::text[])`
        for (const row of rows) {
          const lastSeenAt = row.last_seen_at?.toISOString()
          const state = stateOf(row, now())
          const news = { kind: "device", id: row.id, state } as const
          tell([row.owner_id, ...row.members], lastSeenAt === undefined ? news : { ...news, lastSeenAt })
        }
      })

      const tellOfMoved = Effect.fnUntraced(function* (
        approvals: ReadonlyArray<string>,
        tasks: ReadonlyArray<string>,
        runs: ReadonlyArray<string>
      ) {
        const rows = yield* sql<MovedRow>`
          SELECT n.*, p.visibility = 'internal' AS internal, ARRAY(
            SELECT m.user_id FROM project_members m
            WHERE m.project_id = n.project_id AND m.user_id = ANY(${userIds()}::text[])
          ) AS members
          FROM (
            SELECT 'approval' AS kind, id, run_id, project_id, state FROM approvals WHERE id = ANY(${approvals}::text[])
            UNION ALL SELECT 'task', id, run_id, project_id, state FROM tasks WHERE id = ANY(${tasks}::text[])
            UNION ALL SELECT 'run', id, id, project_id, state FROM runs WHERE id = ANY(${runs}::text[])
          ) n JOIN projects p ON p.id = n.project_id`
        for (const row of rows) tell(row.internal ? "everyone" : row.members, newsOf(row))
      })

      const turn = Effect.gen(function* () {
        const came = [...coming]
        coming.clear()
        yield* Effect.forEach(came, tellPresent, { concurrency: 4, discard: true })
        const projects = take(due.project)
        if (projects.length > 0) yield* lookAtProjects(projects)
        const found = take(due.device)
        if (found.length > 0) yield* tellOfDevices(found)
        const [approvals, tasks, runs] = [take(due.approval), take(due.task), take(due.run)]
        if (approvals.length + tasks.length + runs.length > 0) yield* tellOfMoved(approvals, tasks, runs)
        if (Object.values(due).some(({ size }) => size > 0)) wake()
      })

      const endAll = () => readers.forEach((reader) => reader.end())

      yield* Queue.take(more).pipe(
        Effect.andThen(turn),
        // What could not be read was missed.
        Effect.catch((error) =>
          Effect.andThen(Effect.logWarning("news are not told", error), Effect.sync(endAll))
        ),
        Effect.forever,
        Effect.forkScoped
      )

      /** Nobody tells that a lease has run out. */
      let lookedAt = now()
      const look = Effect.gen(function* () {
        readers.forEach((reader) => reader.tick())
        const [from, to] = [new Date(lookedAt), new Date(now())]
        if (readers.size > 0) {
          const ended = yield* sql<{ readonly id: DeviceId }>`
            SELECT id FROM devices WHERE revoked_at IS NULL AND lease_until > ${from} AND lease_until <= ${to}`
          for (const { id } of ended) due.device.add(id)
          if (ended.length > 0) wake()
        }
        lookedAt = to.getTime()
      })
      yield* look.pipe(
        Effect.ignore,
        Effect.andThen(Effect.sleep("5 seconds")),
        Effect.forever,
        Effect.forkScoped
      )

      notices.follow({
        onNotice: (kind, id) => {
          const told = toldBy[kind]
          if (told === undefined || readers.size === 0) return
          if (told === "project")
            for (const reader of readers)
              // That channel tells ids of projects alone.
              for (const news of reader.withdraw(id as ProjectId)) due[news.kind].add(news.id)
          due[told].add(id)
          wake()
        },
        onMissed: endAll
      })

      return News.of({
        follow: (reader) => {
          readers.add(reader)
          coming.add(reader)
          wake()
          return () => {
            readers.delete(reader)
            coming.delete(reader)
          }
        }
      })
    })
  )
}

/** What to look at for each notice. */
const toldBy: Partial<Record<NoticeKind, "approval" | "device" | "project" | "run" | "task">> = {
  approval: "approval",
  deviceEnded: "device",
  membership: "project",
  presence: "device",
  runState: "run",
  task: "task"
}

/** Ids of one statement. */
const AT_ONCE = 1_000

const take = (ids: Set<string>): ReadonlyArray<string> => {
  const taken = [...ids].slice(0, AT_ONCE)
  for (const id of taken) ids.delete(id)
  return taken
}

interface DeviceRow extends Lease {
  readonly id: DeviceId
  readonly last_seen_at: Date | null
  readonly owner_id: UserId
  readonly members: ReadonlyArray<UserId>
}

type Moved = { readonly project_id: ProjectId } & (
  | {
      readonly kind: "approval"
      readonly id: ApprovalId
      readonly run_id: RunId
      readonly state: ApprovalState
    }
  | { readonly kind: "task"; readonly id: TaskId; readonly state: TaskState }
  | { readonly kind: "run"; readonly id: RunId; readonly state: HubRunStatus }
)

type MovedRow = Moved & { readonly internal: boolean; readonly members: ReadonlyArray<UserId> }

const newsOf = (row: Moved): HubNews => {
  const projectId = row.project_id
  switch (row.kind) {
    case "approval":
      return { kind: "approval", id: row.id, runId: row.run_id, projectId, state: row.state }
    case "task":
      return { kind: "task", id: row.id, projectId, state: row.state }
    case "run":
      return { kind: "run", id: row.id, projectId, state: row.state }
  }
}
