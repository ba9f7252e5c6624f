/** Starts that wait for the limits of several projects: tasks of any projects and persons, on several devices, claimed at the same time. */
import { prove } from "@corral/domain/access/Authorization"
import type { ProjectId, TaskId, UserId } from "@corral/domain/identity/Ids"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { createRun, Mirror, newId } from "@corral/testing/hub/Mirror"
import { query } from "@corral/testing/postgres/OutsidePostgres"
import { effort } from "@corral/testing/time/Effort"
import { until } from "@corral/testing/time/Until"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Result, Schedule } from "effect"
import * as fc from "fast-check"
import { Client } from "pg"
import { Projects } from "../../src/project/Projects.ts"
import { Tasks } from "../../src/task/Tasks.ts"
import { isCancelled } from "../harness/Statements.ts"

const LIMIT = 1_000_000

/** A task that waits. `exceeds`: its budget is larger than the limit. */
interface Waiting {
  readonly project: 0 | 1 | 2
  readonly person: 0 | 1
  readonly exceeds: boolean
}

const waiting: fc.Arbitrary<Waiting> = fc.record({
  project: fc.constantFrom(0, 1, 2),
  person: fc.constantFrom(0, 1),
  exceeds: fc.boolean()
})
/** Two devices leave one of the three connections free: without one, the Hub cancels statements that wait for locks more often. */
const ofDevices = fc.array(fc.array(waiting, { minLength: 1, maxLength: 4 }), { minLength: 2, maxLength: 2 })

const exceeding = (project: Waiting["project"], person: Waiting["person"] = 0): Waiting => ({
  project,
  person,
  exceeds: true
})

/** Two devices whose tasks are in the opposite order: of two projects, and of two persons in one project. */
const opposite: ReadonlyArray<Array<Array<Waiting>>> = [
  [
    [exceeding(0), exceeding(1)],
    [exceeding(1), exceeding(0)]
  ],
  [
    [exceeding(2, 0), exceeding(2, 1)],
    [exceeding(2, 1), exceeding(2, 0)]
  ]
]

describe("Starts under limits", () => {
  const hub = new HubInProcess()
  const persons: Array<UserId> = []
  const projects: Array<ProjectId> = []
  const execute = (text: string) => query(hub.databaseUrl ?? "", text)

  beforeAll(async () => {
    await hub.start()
    for (const name of ["ada", "grace"]) {
      const { userId } = await hub.signedIn(name)
      assert.isDefined(userId)
      persons.push(userId)
    }
    const [ada, grace] = persons
    const mirror = new Mirror(hub)
    // In the last project, persons have no limit in common.
    for (const subjects of [["everyone"], ["each", ada, "everyone"], [ada, grace]]) {
      const project = await mirror.project(ada)
      await mirror.member(ada, project, grace, "member")
      const limits = subjects.map((subject) => `('${project}', '${subject}', ${LIMIT}, now())`)
      await execute(
        `INSERT INTO project_limits (project_id, subject, tokens, updated_at) VALUES ${limits.join(", ")}`
      )
      projects.push(project)
    }
  })
  afterAll(() => hub.remove())

  /** A device that has these tasks waiting. */
  const deviceWith = async (tasks: ReadonlyArray<Waiting>) => {
    const mirror = new Mirror(hub)
    await mirror.device(persons[0], ...projects)
    for (const project of projects) await mirror.link(project)
    const ids: Array<TaskId> = []
    for (const { exceeds, person, project } of tasks) {
      const id = newId<TaskId>("tsk")
      const request = JSON.stringify({ ...createRun, budget: { tokens: exceeds ? LIMIT + 1 : 1 } })
      await execute(`
        INSERT INTO tasks (id, project_id, target_id, created_by, state, on_offline, request, created_at, updated_at)
        VALUES ('${id}', '${projects[project]}', '${mirror.targetId}', '${persons[person]}', 'queued', 'queue', '${request}', now(), now())`)
      ids.push(id)
    }
    return { targetId: mirror.targetId, ids }
  }

  /** Claims all tasks of a device, as a dispatcher does, which tries again what the Hub has cancelled. */
  const claimAll = ({ targetId }: Awaited<ReturnType<typeof deviceWith>>) =>
    hub.people.act(
      Effect.flatMap(Tasks, ({ claim }) =>
        Effect.gen(function* () {
          let last: TaskId | undefined
          const next = () =>
            Effect.retry(claim(targetId, last), { while: isCancelled, schedule: Schedule.forever })
          do last = (yield* next())?.id
          while (last !== undefined)
        })
      )
    )

  /**
   * Runs the work up to its first limit, all of which are held until each part of it waits for one, or has ended: a project that is removed first has
   * no task to start.
   */
  const fromFirstLimit = async (parts: ReadonlyArray<() => Promise<void>>): Promise<void> => {
    const holder = new Client({ connectionString: hub.databaseUrl })
    await holder.connect()
    try {
      await holder.query("BEGIN")
      await holder.query("SELECT 1 FROM project_limits FOR UPDATE")
      let ended = 0
      const all = Promise.all(parts.map((part) => part().finally(() => ended++)))
      all.catch(() => undefined)
      await until(async () => {
        const rows = await execute(
          "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return rows.length + ended >= parts.length ? true : undefined
      }, "starts that wait for limits")
      await holder.query("COMMIT")
      await all
    } finally {
      await holder.end()
    }
  }

  it("never wait for each other, in any order of their tasks", async () => {
    await fc.assert(
      fc.asyncProperty(ofDevices, async (lists) => {
        const devices = []
        for (const tasks of lists) devices.push(await deviceWith(tasks))
        await fromFirstLimit(devices.map((device) => () => claimAll(device)))
        for (const [index, { ids }] of devices.entries()) {
          const rows = await execute(
            `SELECT state, error::json ->> 'code' AS code, run_id IS NOT NULL AS has_run FROM tasks
             WHERE id IN (${ids.map((id) => `'${id}'`).join(", ")}) ORDER BY id`
          )
          assert.deepStrictEqual(
            rows.map(({ code, has_run, state }) => [state, code, has_run]),
            (lists[index] ?? []).map(({ exceeds }) =>
              exceeds ? ["failed", "budget_exceeded", false] : ["pending", null, true]
            )
          )
        }
      }),
      { numRuns: 10 * effort, examples: opposite.map((lists) => [lists]) }
    )
  })

  it("let a project be removed that has tasks to start, before or after them", async () => {
    const mirror = new Mirror(hub)
    const [ada] = persons
    const project = await mirror.project(ada)
    await execute(
      `INSERT INTO project_limits (project_id, subject, tokens, updated_at) VALUES ('${project}', 'everyone', ${LIMIT}, now())`
    )
    await mirror.device(ada, project)
    await mirror.link(project)
    await execute(`
      INSERT INTO tasks (id, project_id, target_id, created_by, state, on_offline, request, created_at, updated_at)
      VALUES ('${newId<TaskId>("tsk")}', '${project}', '${mirror.targetId}', '${ada}', 'queued', 'queue',
        '${JSON.stringify({ ...createRun, budget: { tokens: 1 } })}', now(), now())`)
    const remove = () =>
      hub.people.act(
        Effect.gen(function* () {
          const claim = { principal: ada ?? "", subject: project }
          const proof = yield* Effect.fromResult(prove("project.delete", claim, undefined))
          const { remove } = yield* Projects
          return yield* Effect.result(
            Effect.retry(remove(proof), { while: isCancelled, schedule: Schedule.forever })
          )
        })
      )
    const removed: Array<Awaited<ReturnType<typeof remove>>> = []
    await fromFirstLimit([
      () => claimAll({ targetId: mirror.targetId, ids: [] }),
      async () => void removed.push(await remove())
    ])
    // A deadlock would fail one of the two.
    assert.deepStrictEqual(
      removed.map((result) => Result.isFailure(result) && result.failure._tag === "SqlError"),
      [false]
    )
  })
})
