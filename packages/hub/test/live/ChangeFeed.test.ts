import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { ApprovalId, ProjectId } from "@corral/domain/identity/Ids"
import type { Message } from "@corral/domain/session/Message"
import type { Task } from "@corral/domain/task/Task"
import { draft } from "@corral/domain/run/RunEvent"
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { notify } from "../../src/store/Notices.ts"
import { HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import {
  approvalRequested,
  runCompleted,
  createdRun,
  createRun,
  Mirror,
  newId,
  approvalResolved,
  messageDelta,
  runStarted,
  startMirror
} from "@corral/testing/hub/Mirror"
import { holdTable } from "@corral/testing/postgres/HeldTable"
import { query } from "@corral/testing/postgres/PostgresServer"
import { until } from "@corral/testing/time/Until"
import { ChangeFollower } from "../harness/ChangeFollower.ts"
import { reportOffer } from "@corral/testing/hub/Offers"

describe("/client/news", () => {
  const hub = new HubInProcess()
  let ada: HubClient
  let bob: HubClient
  let mirror: Mirror
  let project: ProjectId
  beforeAll(async () => {
    ;({ ada, mirror, project } = await startMirror(hub))
    bob = await hub.signedIn("bob")
    await mirror.device(ada.userId, project)
  })
  afterAll(() => hub.remove())

  const sql = (act: (sql: SqlClient.SqlClient) => Effect.Effect<unknown, SqlError.SqlError>) =>
    hub.people.act(Effect.flatMap(SqlClient.SqlClient, act))
  /** The Hub has heard of all that was appended: who comes now hears of what comes after it. */
  const receive = async () => {
    const follower = await ChangeFollower.open(ada)
    // One change with one notice: a run with events has two, and the second may come after this.
    const id = await mirror.open(project)
    await follower.hint({ kind: "run", id })
    await follower.close()
  }
  const presence = () => sql((sql) => notify(sql, "presence", mirror.targetId))

  it("begins with devices and pending approvals, and continues with changes", async () => {
    const [pending, done] = [newId<ApprovalId>("apr"), newId<ApprovalId>("apr")]
    const runId = await mirror.run(project, createdRun, runStarted, approvalRequested(pending))
    await mirror.run(
      project,
      createdRun,
      runStarted,
      approvalRequested(done),
      approvalResolved(done, "denied")
    )
    await receive()
    const news = await ChangeFollower.open(ada)
    await news.hint({ id: mirror.targetId, state: "offline" })
    await news.hint({ id: pending, state: "pending" })
    assert.deepStrictEqual(news.hints, [
      { kind: "device", id: mirror.targetId, state: "offline", lastSeenAt: "2026-11-21T12:00:00.000Z" },
      { kind: "approval", id: pending, runId, projectId: project, state: "pending" }
    ])
    await mirror.append(runId, 4, messageDelta("a secret word"), approvalResolved(pending, "approved"))
    await news.hint({ kind: "approval", id: pending, state: "approved" })
    await news.hint({ kind: "run", id: runId, state: "running", projectId: project })
    await mirror.append(runId, 6, runCompleted)
    await news.hint({ id: runId, state: "completed" })
    const opened = await mirror.open(project)
    await news.hint({ kind: "run", id: opened, state: "queued" })
    const task = await ada.ask<Task>("POST", "/web/agent-tasks", {
      body: { ...createRun, projectId: project, targetId: mirror.targetId, onOffline: "queue" }
    })
    await news.hint({ kind: "task", id: task.body.id, projectId: project, state: "queued" })
    await ada.ask("POST", `/client/tasks/${task.body.id}/cancel`)
    await news.hint({ kind: "task", id: task.body.id, state: "cancelled" })
    assert.notInclude(JSON.stringify(news.hints), "secret")
    await news.close()
  })

  it("sends a change only for events that change a state", async () => {
    const runId = await mirror.run(project, createdRun, runStarted)
    await receive()
    const news = await ChangeFollower.open(ada)
    for (let seq = 3; seq < 10; seq++) await mirror.append(runId, seq, messageDelta("x"))
    await mirror.append(runId, 10, runCompleted)
    await news.hint({ id: runId, state: "completed" })
    assert.deepStrictEqual(
      news.hints.filter((hint) => hint.id === runId),
      [{ kind: "run", id: runId, projectId: project, state: "completed" }]
    )
    await news.close()
  })

  it("sends a change when a run is paused or resumed", async () => {
    await receive()
    const news = await ChangeFollower.open(ada)
    const runId = await mirror.run(project, createdRun, runStarted)
    const running = { kind: "run", id: runId, state: "running" } as const
    const started = await news.hint(running)
    await mirror.append(runId, 3, draft("run.paused", {}))
    const paused = await news.hint(running, started + 1)
    await mirror.append(runId, 4, draft("run.resumed", {}))
    await news.hint(running, paused + 1)
    await news.close()
  })

  it("names messages and their delivery, without their text", async () => {
    const sessionId = await mirror.session(project)
    const path = `/client/sessions/${sessionId}/messages`
    const news = await ChangeFollower.open(ada)
    const note = await ada.ask<Message>("POST", path, { body: { text: "a secret word" } })
    await news.hint({ kind: "message", id: note.body.id, sessionId, projectId: project })
    const task = {
      ...createRun,
      projectId: project,
      targetId: mirror.targetId,
      onOffline: "queue",
      sessionId
    }
    const { body } = await ada.ask<Task>("POST", "/web/agent-tasks", { body: task })
    const [sent] = (await ada.ask<{ readonly items: ReadonlyArray<Message> }>("GET", path)).body.items
    assert.isDefined(sent)
    await news.hint({ kind: "message", id: sent.id, delivery: "pending" })
    await ada.ask("POST", `/client/tasks/${body.id}/cancel`)
    await news.hint({ kind: "message", id: sent.id, delivery: "withdrawn" })
    assert.notInclude(JSON.stringify(news.hints), "secret")
    await news.close()
  })

  it("sends a change to a reader who joined while an earlier one was read", async () => {
    const id = await mirror.open(project)
    const news = await ChangeFollower.open(bob)
    // The feed has sent the present state, and waits.
    await news.hint({ id: await mirror.run(await mirror.project(ada.userId, "internal"), createdRun) })
    const url = hub.databaseUrl ?? assert.fail("no database")
    const { released } = await holdTable(url, "device_shares", "500 ms")
    let isReleased = false
    void released.then(() => (isReleased = true))
    await presence()
    // The feed reads the device. A machine that is too slow to see it sees the end of the lock.
    await until(async () => {
      const waiting = await query(
        url,
        `SELECT 1 FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%FROM devices d WHERE d.id = ANY%'`
      )
      return isReleased || waiting.length > 0 ? true : undefined
    }, "the feed at the lock")
    const adas = await ChangeFollower.open(ada)
    await sql((sql) => notify(sql, "runState", id))
    assert.isTrue(await released)
    await adas.hint({ kind: "run", id })
    await Promise.all([news.close(), adas.close()])
  })

  it("sends changes only to readers who may see them, and to members while they are members", async () => {
    const ownProject = await mirror.project(ada.userId)
    const theirs = new Mirror(hub)
    await theirs.device(ada.userId, ownProject)
    const approval = newId<ApprovalId>("apr")
    const runId = await theirs.run(ownProject, createdRun, runStarted, approvalRequested(approval))
    const [news, adas] = [await ChangeFollower.open(bob), await ChangeFollower.open(ada)]
    await theirs.append(runId, 4, approvalResolved(approval, "denied"))
    await adas.hint({ id: approval, state: "denied" })
    const next = newId<ApprovalId>("apr")
    await theirs.append(runId, 5, approvalRequested(next))
    await adas.hint({ id: next })
    const open = await mirror.project(ada.userId, "internal")
    // Sent to everyone after that. A member may receive the older approval as well, when a second notice of it comes late.
    await news.hint({ id: await mirror.run(open, createdRun) })
    assert.isFalse(news.hints.some(({ id }) => id === approval || id === next))
    await mirror.member(ada.userId, ownProject, bob.userId, "viewer")
    await news.hint({ id: next, state: "pending" })
    await news.hint({ id: theirs.targetId })
    await mirror.noMember(ada.userId, ownProject, bob.userId)
    await theirs.append(runId, 6, approvalResolved(next, "approved"))
    await adas.hint({ id: next, state: "approved" })
    const last = await mirror.run(open, createdRun)
    await news.hint({ id: last })
    assert.isFalse(
      news.hints.some((hint) => hint.kind === "approval" && hint.id === next && hint.state === "approved")
    )
    await Promise.all([news.close(), adas.close()])
  })

  it("tells when a device comes, is gone without a word, and is revoked", async () => {
    const news = await ChangeFollower.open(ada)
    await reportOffer(hub, mirror.targetId)
    await presence()
    const received = await news.hint({ id: mirror.targetId, state: "online" })
    await sql(
      (sql) =>
        sql`UPDATE devices SET linked = true, lease_until = ${new Date(Date.now() + 300)} WHERE id = ${mirror.targetId}`
    )
    const offline = await news.hint({ id: mirror.targetId, state: "offline" }, received)
    await ada.ask("PATCH", `/client/devices/${mirror.targetId}`, { body: { state: "revoked" } })
    await news.hint({ id: mirror.targetId, state: "revoked" }, offline)
    await news.close()
  })

  it.concurrent.each([0, 1_000, 60_000, 3_600_000])(
    "tells that a device has gone when its lease is found to have ended %d ms before",
    async (ago) => {
      const other = new Mirror(hub)
      await other.device(ada.userId)
      await reportOffer(hub, other.targetId)
      const news = await ChangeFollower.open(ada)
      const there = await news.hint({ id: other.targetId, state: "online" })
      // Written late: by a Hub that was slow, or whose clock is behind.
      await sql(
        (sql) =>
          sql`UPDATE devices SET linked = true, lease_until = ${new Date(Date.now() - ago)} WHERE id = ${other.targetId}`
      )
      await news.hint({ id: other.targetId, state: "offline" }, there)
      await news.close()
    }
  )

  it("ends within a second when the sign-in ends, and is refused without one", async () => {
    const { signInId, token } = await hub.people.signIn("ada")
    const news = await ChangeFollower.open(new HubClient(hub.url, token))
    await sql((sql) => notify(sql, "signInEnded", signInId))
    await news.ended(1_000)
    const refused = await hub.client.ask("GET", "/client/news")
    assert.strictEqual(refused.status, 401)
  })
})
