/** Plans of tasks without a session: the work continues in a task of the user who approved the plan, over a real Hub and a real link. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { AuditRecord } from "@corral/domain/access/Audit"
import type { InputRequestId, RunId, UserId } from "@corral/domain/identity/Ids"
import type { RequestedInput } from "@corral/domain/input/InputRequest"
import type { RunMode } from "@corral/domain/run/Run"
import { draft } from "@corral/domain/run/RunEvent"
import type { Task } from "@corral/domain/task/Task"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { Mirror } from "@corral/testing/hub/Mirror"
import { until } from "@corral/testing/time/Until"
import { type StartedTurn, TalkingEdge } from "../harness/TalkingEdge.ts"
import { makeTask, untilTask, type World, worldOf } from "../link/World.ts"

const plan: RequestedInput = { kind: "plan", title: "A plan", plan: "First this, then that." }
const CARRY_OUT = "The plan was approved. Carry it out."

interface Page<A> {
  readonly items: ReadonlyArray<A>
}

describe("The plan of a task without a session", () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  /** A task whose run has handed over its plan. */
  const planned = async ({ mode = "read_only" as RunMode, resumes = true, more = {} } = {}) => {
    const world = await worldOf(hub)
    const edge = await TalkingEdge.link(hub.url, world, resumes)
    await new Mirror(hub, world.deviceId).link(world.projectId)
    const task = await makeTask(world, { mode, ...more })
    assert.strictEqual(task.status, 201, task.text)
    const turn = await edge.turn(0)
    await edge.begin(turn)
    return { world, edge, task: task.body, turn, id: await edge.ask(turn, plan) }
  }
  const answer = ({ client }: World, id: string, body: object) =>
    client.ask("POST", `/client/inputs/${id}/answer`, { body })
  const tasksOf = async ({ client, projectId }: World) =>
    (await client.ask<Page<Task>>("GET", `/client/tasks?projectId=${projectId}`)).body.items
  const approvedLocally = (edge: TalkingEdge, runId: RunId, inputId: InputRequestId, by: string) =>
    edge.step(runId, {
      _tag: "InputAnswered",
      inputId,
      answer: { approve: true, mode: "auto_edit" },
      shown: {},
      by,
      endsRun: true
    }).pushed

  it.each([true, false])("starts one task in the chosen mode: resumes %s", async (resumes) => {
    const budget = { turns: 7, wallMs: 90_000 }
    const more = { budget, timeoutMs: 60_000, backgroundMs: 120_000, model: "small" }
    const { edge, id, task, turn, world } = await planned({ resumes, more })
    const body = { approve: true, mode: "auto_edit", comment: "Start with the tests." }
    assert.strictEqual((await answer(world, id, body)).status, 200)
    const next = await edge.turn(1)
    assert.deepInclude<object>(next.create, { mode: "auto_edit", ...more })
    assert.strictEqual(next.create.resume, resumes ? turn.runId : undefined)
    assert.strictEqual(
      next.create.input.text,
      `${CARRY_OUT}\n\nStart with the tests.\n\nThe plan:\n\nFirst this, then that.`
    )
    await edge.perform(next, "Done")
    const [later, first] = await tasksOf(world)
    assert.strictEqual(first?.id, task.id)
    assert.deepInclude<object>(later ?? {}, {
      mode: "auto_edit",
      runId: next.runId,
      createdBy: world.client.userId,
      targetId: world.deviceId
    })
    assert.lengthOf(await tasksOf(world), 2)
    await untilTask(world, String(later?.id), "completed")
    const audit = await world.client.ask<Page<AuditRecord>>(
      "GET",
      `/client/audit?projectId=${world.projectId}&action=task.create`
    )
    assert.include(
      audit.body.items.map(({ resource }) => resource),
      String(later?.id)
    )
  })

  it("starts a task when the approval and the end of the run come in different pushes", async () => {
    const { edge, id, turn } = await planned()
    const approved = {
      inputId: id,
      state: "answered",
      approved: true,
      mode: "auto_edit",
      by: "local"
    } as const
    await edge.push(turn.runId, draft("run.input.resolved", approved))
    await edge.reply(turn, "I have a plan.")
    await edge.complete(turn, String(plan.plan))
    assert.deepInclude<object>((await edge.turn(1)).create, { mode: "auto_edit", resume: turn.runId })
  })

  it("starts a task of the device's owner if the plan was approved on the device", async () => {
    const { edge, id, turn, world } = await planned()
    await approvedLocally(edge, turn.runId, id, "local")
    assert.deepInclude<object>((await edge.turn(1)).create, { mode: "auto_edit" })
    assert.strictEqual((await tasksOf(world))[0]?.createdBy, world.client.userId)
  })

  it("starts nothing for a user who did not approve it over the Hub, and nothing if it is sent back or not of a run that only plans", async () => {
    const { edge, id, turn, world } = await planned()
    const other = await hub.signedIn("another person")
    await new Mirror(hub).member(world.client.userId, world.projectId, other.userId as UserId, "owner")
    await approvedLocally(edge, turn.runId, id, String(other.userId))
    const returned = await planned()
    await answer(returned.world, returned.id, { approve: false, comment: "Shorter." })
    await returned.edge.complete(returned.turn, "Then not.")
    const acting = await planned({ mode: "ask" })
    await answer(acting.world, acting.id, { approve: true })
    await acting.edge.complete(acting.turn, "Done")
    for (const one of [{ edge, world }, returned, acting]) {
      // A later task has come through: nothing was started before it.
      await makeTask(one.world, { mode: "ask", input: { text: "And now?" } })
      assert.strictEqual((await one.edge.turn(1)).create.input.text, "And now?")
      assert.lengthOf(await tasksOf(one.world), 2)
    }
  })

  it.each(["refused", "failed"] as const)(
    "starts again without the conversation if its continuation is %s",
    async (how) => {
      const { edge, id, turn, world } = await planned()
      const issues = [{ path: "resume", message: "That run has no conversation to go on with." }]
      edge.startRefusal = { code: "schema_validation_failed", message: "Invalid.", details: { issues } }
      edge.refusesStart = how === "refused"
      await answer(world, id, { approve: true, mode: "auto_edit" })
      let next: StartedTurn = await edge.turn(1)
      if (how === "failed") {
        assert.strictEqual(next.create.resume, turn.runId)
        await edge.begin(next)
        await edge.fail(next, { details: { reason: "unknown_session" } })
        next = await edge.turn(2)
      }
      assert.isUndefined(next.create.resume)
      assert.deepInclude<object>(next.create, { mode: "auto_edit" })
      assert.include(next.create.input.text, "The plan:\n\nFirst this, then that.")
      await edge.begin(next)
      await edge.fail(next, { details: { reason: "unknown_session" } })
      assert.lengthOf(await tasksOf(world), how === "failed" ? 3 : 2)
    }
  )

  it("leaves the failure of a run that a user resumes as it is", async () => {
    const { edge, id, turn, world } = await planned()
    await answer(world, id, { approve: true, mode: "auto_edit" })
    await edge.perform(await edge.turn(1), "Done")
    const resumed = await makeTask(world, { mode: "ask", resume: turn.runId })
    const next = await edge.turn(2)
    await edge.begin(next)
    await edge.fail(next, { details: { reason: "unknown_session" } })
    await untilTask(world, resumed.body.id, "failed")
    assert.lengthOf(await tasksOf(world), 3)
  })

  it("fails with a reason if its approver may no longer start tasks", async () => {
    const { edge, id, turn, world } = await planned()
    const { client, projectId } = world
    const mia = await hub.signedIn("mia")
    await new Mirror(hub).member(client.userId, projectId, mia.userId as UserId, "admin")
    const { answers } = edge.edge
    edge.edge.answers = (command) => (command.name === "AnswerInput" ? undefined : answers(command))
    const controller = new AbortController()
    const lost = fetch(`${hub.url}/client/inputs/${id}/answer`, {
      method: "POST",
      signal: controller.signal,
      headers: { authorization: `Bearer ${mia.token}`, "content-type": "application/json" },
      body: JSON.stringify({ approve: true, mode: "auto_edit" })
    }).catch(() => undefined)
    await until(
      async () => edge.edge.commands.find(({ name }) => name === "AnswerInput"),
      "the approval at the Edge",
      45_000
    )
    controller.abort()
    await lost
    const role = await client.ask("PATCH", `/client/projects/${projectId}/members/${mia.userId}`, {
      body: { role: "viewer" }
    })
    assert.strictEqual(role.status, 200, role.text)
    await approvedLocally(edge, turn.runId, id, String(mia.userId))
    const [task] = await tasksOf(world)
    assert.strictEqual(task?.createdBy, mia.userId)
    const failed = await untilTask(world, String(task?.id), "failed")
    assert.strictEqual(failed.error?.code, "permission_denied")
  })
})
