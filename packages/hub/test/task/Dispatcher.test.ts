import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { prove } from "@corral/domain/access/Authorization"
import { StartRefused } from "../../src/edges/EdgeRefusal.ts"
import { EdgeRouter } from "../../src/edges/EdgeRouter.ts"
import { TargetOffline } from "@corral/domain/errors/Failures"
import type { DeviceId, ProjectId, RunId, TaskId, UserId } from "@corral/domain/identity/Ids"
import type { Run } from "@corral/domain/run/Run"
import type { OnOffline, Task, TaskState } from "@corral/domain/task/Task"
import { Effect, Layer, ManagedRuntime, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { until, within } from "@corral/testing/time/Until"
import { HubConfig, hubDefaults } from "../../src/config/HubConfig.ts"
import { RunLog } from "../../src/run/RunLog.ts"
import { Runs } from "../../src/run/Runs.ts"
import { SessionProject } from "../../src/session/SessionTable.ts"
import { Targets } from "../../src/edges/Targets.ts"
import { hubDatabaseLayer } from "../../src/store/Database.ts"
import { Dispatcher } from "../../src/task/Dispatcher.ts"
import { Tasks } from "../../src/task/Tasks.ts"
import type { HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { runCompleted, createdRun, createRun, Mirror, newId, runStarted } from "@corral/testing/hub/Mirror"

/** An Edge as the router sees it: what it is asked to start, in order, and what it answers. */
class PlayedEdge {
  readonly requestedRuns: Array<RunId> = []
  /** Its own device: a dispatcher also starts what other tests have left. */
  targetId: DeviceId | undefined
  present = true
  readonly isAsked: Promise<void>
  private tellAsked = (): void => undefined
  /** `hang`: the answer never comes. */
  answer: "take" | "refuse" | "away" | "hang" = "take"
  private answering: Promise<void> = Promise.resolve()
  /** Sends the answers that are held. */
  releaseAnswers = (): void => undefined

  constructor() {
    this.isAsked = new Promise((resolve) => {
      this.tellAsked = resolve
    })
  }

  holdAnswers(): void {
    this.answering = new Promise((resolve) => {
      this.releaseAnswers = resolve
    })
  }

  layer(): Layer.Layer<EdgeRouter> {
    const away = (targetId: DeviceId) => Effect.fail(new TargetOffline({ details: { targetId } }))
    return Layer.succeed(EdgeRouter, {
      checkOffer: (targetId) => (this.present ? Effect.void : away(targetId)),
      start: (targetId, { create, runId }, onWritten = Effect.void) => {
        if (targetId !== this.targetId) return away(targetId)
        return Effect.flatMap(onWritten, (): Effect.Effect<Run, StartRefused | TargetOffline> => {
          this.requestedRuns.push(runId)
          this.tellAsked()
          if (this.answer === "hang") return Effect.never
          if (this.answer === "away")
            return Effect.andThen(
              Effect.promise(() => this.answering),
              away(targetId)
            )
          if (this.answer === "refuse")
            return Effect.fail(
              new StartRefused({ code: "invalid_agent_id", message: "There is no such agent." })
            )
          const at = "2026-11-21T12:00:00.000Z"
          const report = {
            state: "created",
            timeoutMs: 1,
            lastSeq: 1,
            pendingApprovals: [],
            createdAt: at
          } as const
          return Effect.succeed<Run>({ ...create, ...report, id: runId, updatedAt: at })
        })
      },
      cancel: away,
      changePause: away,
      decide: away,
      answerInput: away,
      finish: away,
      readDiff: away,
      readChanges: away,
      readChangedFile: away,
      decideChanges: away,
      undoChanges: away,
      discardChanges: away,
      listArtifacts: away,
      sendInput: away,
      readArtifact: away,
      openPreview: away,
      listFiles: away,
      readFile: away,
      findFiles: away,
      listPresets: away,
      changePreset: away
    })
  }
}

describe("Dispatcher", () => {
  const hub = new HubInProcess()
  let ada: HubClient
  beforeAll(async () => {
    await hub.start()
    ada = await hub.signedIn("ada")
  })
  afterAll(() => hub.remove())

  /** Services of a second Hub, with a link to that Edge. */
  const linked = async (
    edge: PlayedEdge,
    before?: { readonly mirror: Mirror; readonly projectId: ProjectId }
  ) => {
    const mirror = before?.mirror ?? new Mirror(hub)
    const projectId = before?.projectId ?? (await mirror.project(ada.userId))
    if (before === undefined) await mirror.device(ada.userId)
    edge.targetId = mirror.targetId
    const runtime = ManagedRuntime.make(
      Dispatcher.layer.pipe(
        Layer.provideMerge(Tasks.layer),
        Layer.provide(edge.layer()),
        Layer.provideMerge(Layer.mergeAll(RunLog.layer, Runs.layer, SessionProject.layer, Targets.layer)),
        Layer.provideMerge(hubDatabaseLayer),
        Layer.provide(
          Layer.succeed(HubConfig, {
            ...hubDefaults,
            home: hub.home,
            maxConnections: 3,
            databaseUrl: hub.databaseUrl === undefined ? undefined : Redacted.make(hub.databaseUrl)
          })
        )
      )
    )
    const creation = Effect.fnUntraced(function* (onOffline: OnOffline, maker = ada.userId) {
      const sql = yield* SqlClient.SqlClient
      const tasks = yield* Tasks
      const claim = { principal: maker ?? "", subject: projectId }
      const proof = yield* Effect.fromResult(prove("task.create", claim, undefined))
      const create = { ...createRun, projectId, targetId: mirror.targetId, onOffline }
      return yield* sql.withTransaction(tasks.create(proof, yield* tasks.newId, create))
    })
    const make = (onOffline: OnOffline, maker = ada.userId): Promise<Task> =>
      runtime.runPromise(creation(onOffline, maker))
    /** Creates a task in a transaction that fails afterwards. */
    const makeInVain = () =>
      runtime.runPromise(
        Effect.flatMap(SqlClient.SqlClient, (sql) =>
          Effect.exit(sql.withTransaction(Effect.andThen(creation("queue"), Effect.fail("rolled back"))))
        )
      )
    const claim = (open: ReadonlyArray<TaskId>) =>
      runtime.runPromise(Effect.flatMap(Tasks, (tasks) => tasks.claim(mirror.targetId, undefined, open)))
    const wake = () => runtime.runPromise(Effect.flatMap(Dispatcher, ({ wake }) => wake(mirror.targetId)))
    const untilTask = (id: string, state: TaskState): Promise<Task> =>
      until(
        async () => {
          const { body } = await ada.ask<Task>("GET", `/client/tasks/${id}`)
          return body.state === state ? body : undefined
        },
        `the task ${state}`,
        10_000
      )
    return { make, makeInVain, claim, wake, untilTask, mirror, projectId, close: () => runtime.dispose() }
  }
  const remove = (table: "device_projects" | "workspace_links", { targetId }: Mirror) => {
    const column = table === "workspace_links" ? "target_id" : "device_id"
    return hub.people.act(
      Effect.flatMap(SqlClient.SqlClient, (sql) =>
        Effect.asVoid(sql`DELETE FROM ${sql(table)} WHERE ${sql(column)} = ${targetId}`)
      )
    )
  }
  const runsOf = async (projectId: ProjectId) =>
    (await ada.ask<{ readonly items: ReadonlyArray<Run> }>("GET", `/client/runs?projectId=${projectId}`)).body
      .items

  it("starts waiting tasks when their target comes online, oldest first, and tasks follow their runs", async () => {
    const edge = new PlayedEdge()
    edge.present = false
    const { close, make, mirror, projectId, untilTask, wake } = await linked(edge)
    try {
      const [first, second] = [await make("queue"), await make("queue")]
      assert.deepStrictEqual([first.state, second.state], ["queued", "queued"])
      await wake()
      const [one, two] = [await untilTask(first.id, "dispatched"), await untilTask(second.id, "dispatched")]
      assert.deepStrictEqual(edge.requestedRuns, [one.runId, two.runId])
      assert.deepStrictEqual(
        (await runsOf(projectId)).map(({ id, state }) => [id, state]),
        [
          [two.runId, "queued"],
          [one.runId, "queued"]
        ]
      )
      const runId = one.runId ?? newId<RunId>("run")
      await mirror.append(runId, 1, createdRun, runStarted)
      await untilTask(first.id, "running")
      await mirror.append(runId, 3, runCompleted)
      await untilTask(first.id, "completed")
    } finally {
      await close()
    }
  })

  it("starts a task of an online target without being woken, with the run of its creation", async () => {
    const edge = new PlayedEdge()
    const { close, make, projectId, untilTask } = await linked(edge)
    try {
      const [first, second] = [await make("fail"), await make("queue")]
      assert.isDefined(first.runId)
      assert.strictEqual((await untilTask(first.id, "dispatched")).runId, first.runId)
      assert.strictEqual((await untilTask(second.id, "dispatched")).runId, second.runId)
      assert.deepStrictEqual(edge.requestedRuns, [first.runId, second.runId])
      assert.deepStrictEqual(
        (await runsOf(projectId)).map(({ id }) => id),
        [second.runId, first.runId]
      )
    } finally {
      await close()
    }
  })

  it("starts nothing for a task whose transaction is rolled back", async () => {
    const edge = new PlayedEdge()
    const { close, make, makeInVain, projectId, untilTask } = await linked(edge)
    try {
      await makeInVain()
      const { id, runId } = await make("fail")
      await untilTask(id, "dispatched")
      assert.deepStrictEqual(edge.requestedRuns, [runId])
      assert.strictEqual((await runsOf(projectId)).length, 1)
    } finally {
      await close()
    }
  })

  it("gives a new task no run before the waiting tasks of its target", async () => {
    const edge = new PlayedEdge()
    edge.present = false
    const { close, make, untilTask, wake } = await linked(edge)
    try {
      const first = await make("queue")
      edge.present = true
      const second = await make("queue")
      assert.deepStrictEqual(
        [second.state, second.runId, edge.requestedRuns.length],
        ["pending", undefined, 0]
      )
      await wake()
      const [one, two] = [await untilTask(first.id, "dispatched"), await untilTask(second.id, "dispatched")]
      assert.deepStrictEqual(edge.requestedRuns, [one.runId, two.runId])
    } finally {
      await close()
    }
  })

  it("gives a new task no run where its author has lost the role since the check", async () => {
    const edge = new PlayedEdge()
    const { close, make, mirror, projectId, untilTask, wake } = await linked(edge)
    try {
      const { userId } = await hub.people.signIn("maker without a role")
      await mirror.share(projectId)
      await mirror.link(projectId)
      const task = await make("queue", userId)
      assert.isUndefined(task.runId)
      await wake()
      assert.strictEqual((await untilTask(task.id, "failed")).error?.code, "permission_denied")
      assert.deepStrictEqual(edge.requestedRuns, [])
    } finally {
      await close()
    }
  })

  it("does not claim a task whose start is open", async () => {
    const edge = new PlayedEdge()
    edge.answer = "hang"
    const { claim, close, make } = await linked(edge)
    try {
      const { id, runId } = await make("fail")
      assert.isUndefined(await claim([id]))
      assert.strictEqual((await claim([]))?.runId, runId)
    } finally {
      await close()
    }
  })

  it("fails a refused task with the reason of the Edge, and deletes its run", async () => {
    const edge = new PlayedEdge()
    edge.answer = "refuse"
    const { close, make, projectId, untilTask, wake } = await linked(edge)
    try {
      const { id, state } = await make("fail")
      assert.strictEqual(state, "pending")
      await wake()
      const failed = await untilTask(id, "failed")
      assert.deepStrictEqual([failed.error?.code, failed.runId], ["invalid_agent_id", undefined])
      assert.deepStrictEqual(await runsOf(projectId), [])
    } finally {
      await close()
    }
  })

  it("queues a task again when its target went offline, and fails a task that must not wait", async () => {
    const edge = new PlayedEdge()
    edge.answer = "away"
    const { close, make, projectId, untilTask, wake } = await linked(edge)
    try {
      const [waits, fails] = [await make("queue"), await make("fail")]
      await wake()
      assert.strictEqual((await untilTask(fails.id, "failed")).error?.code, "target_offline")
      assert.isUndefined((await untilTask(waits.id, "queued")).runId)
      // The pass of the second wake may be opening a run again, which it takes back.
      await until(async () => (await runsOf(projectId)).length === 0 || undefined, "no run")
      edge.answer = "take"
      await wake()
      const { runId } = await untilTask(waits.id, "dispatched")
      assert.deepStrictEqual(
        (await runsOf(projectId)).map(({ id }) => id),
        [runId]
      )
    } finally {
      await close()
    }
  })

  it("starts a task again that was returned while its target came back", async () => {
    const edge = new PlayedEdge()
    edge.answer = "away"
    edge.holdAnswers()
    const { close, make, untilTask, wake } = await linked(edge)
    try {
      const { id } = await make("queue")
      await wake()
      await within(edge.isAsked, 10_000, "the question")
      await wake()
      edge.answer = "take"
      edge.releaseAnswers()
      assert.strictEqual((await untilTask(id, "dispatched")).state, "dispatched")
      assert.strictEqual(edge.requestedRuns.length, 2)
    } finally {
      await close()
    }
  })

  it.each([
    [
      "permission_denied",
      (mirror: Mirror, project: ProjectId, maker: UserId) => mirror.noMember(ada.userId, project, maker)
    ],
    ["unauthorized_target", (mirror: Mirror) => remove("device_projects", mirror)],
    ["workspace_outside_allowlist", (mirror: Mirror) => remove("workspace_links", mirror)]
  ] as const)("does not start a task whose author has lost the right to it: %s", async (code, lose) => {
    const edge = new PlayedEdge()
    edge.present = false
    const { close, make, mirror, projectId, untilTask, wake } = await linked(edge)
    try {
      const { userId } = await hub.people.signIn(`maker ${code}`)
      await mirror.member(ada.userId, projectId, userId, "member")
      await mirror.share(projectId)
      await mirror.link(projectId)
      const [theirs, other] = [await make("queue", userId), await make("queue")]
      await lose(mirror, projectId, userId)
      await wake()
      const started = await untilTask(other.id, "dispatched")
      assert.deepStrictEqual(edge.requestedRuns, [started.runId])
      assert.strictEqual((await untilTask(theirs.id, "failed")).error?.code, code)
    } finally {
      await close()
    }
  })

  it("starts later tasks while a start is unanswered, and sends no start twice", async () => {
    const edge = new PlayedEdge()
    edge.answer = "hang"
    const { close, make, untilTask, wake } = await linked(edge)
    try {
      const silent = [await make("fail"), await make("queue")]
      await wake()
      for (const { id } of silent) await untilTask(id, "pending")
      await until(
        () => Promise.resolve(edge.requestedRuns.length < silent.length ? undefined : edge.requestedRuns),
        "both starts"
      )
      edge.answer = "take"
      const { id } = await make("fail")
      await wake()
      const { runId } = await untilTask(id, "dispatched")
      assert.strictEqual(new Set(edge.requestedRuns).size, 3)
      assert.deepStrictEqual([edge.requestedRuns.length, edge.requestedRuns.at(-1)], [3, runId])
    } finally {
      await close()
    }
  })

  it("repeats the start of the same run after a Hub stopped during the dispatch", async () => {
    const edge = new PlayedEdge()
    edge.answer = "hang"
    const before = await linked(edge)
    const { id } = await before.make("fail")
    await before.wake()
    await within(edge.isAsked, 10_000, "the question")
    await before.close()
    edge.answer = "take"
    const after = await linked(edge, before)
    try {
      await after.wake()
      const { runId } = await after.untilTask(id, "dispatched")
      assert.deepStrictEqual(edge.requestedRuns, [runId, runId])
    } finally {
      await after.close()
    }
  })
})
