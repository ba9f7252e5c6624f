import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { AuditRecord } from "@corral/domain/access/Audit"
import type { ApprovalId, ProjectId } from "@corral/domain/identity/Ids"
import { type ApprovalPolicy, Approvers, type Project, ProjectRole } from "@corral/domain/project/Project"
import type { Task } from "@corral/domain/task/Task"
import { codeOf, type HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import {
  approvalRequested,
  createdRun,
  createRun,
  Mirror,
  newId,
  runStarted
} from "@corral/testing/hub/Mirror"
import { makeProject } from "@corral/testing/hub/People"

describe("The approval policy of a project", () => {
  const hub = new HubInProcess()
  const people = new Map<ProjectRole, HubClient>()
  const as = (role: ProjectRole): HubClient => {
    const client = people.get(role)
    if (client === undefined) throw new Error(`there is no ${role}`)
    return client
  }
  beforeAll(async () => {
    await hub.start()
    for (const role of ProjectRole.literals) people.set(role, await hub.signedIn(role))
  })
  afterAll(() => hub.remove())

  const project = () =>
    makeProject(
      as("owner"),
      "private",
      (["viewer", "member", "admin"] as const).map((role) => [as(role), role] as const)
    )
  const choose = (client: HubClient, id: ProjectId, approvals: Partial<ApprovalPolicy>) =>
    client.ask<Project>("PATCH", `/client/projects/${id}`, { body: { approvals } })
  const decide = (client: HubClient, id: ApprovalId, decision = "allow") =>
    client.ask("POST", `/client/approvals/${id}/decide`, { body: { decision } })

  /** An approval for which a task of that person's asks. */
  const approvalOf = async (client: HubClient, projectId: ProjectId): Promise<ApprovalId> => {
    const mirror = new Mirror(hub)
    await mirror.device(as("owner").userId, projectId)
    await mirror.link(projectId)
    const task = await client.ask<Task>("POST", "/web/agent-tasks", {
      body: { ...createRun, projectId, targetId: mirror.targetId, onOffline: "queue" }
    })
    assert.strictEqual(task.status, 201, task.text)
    const id = newId<ApprovalId>("apr")
    const runId = await mirror.open(projectId, createRun, task.body.id)
    await mirror.append(runId, 1, createdRun, runStarted, approvalRequested(id))
    return id
  }

  it("lets members decide by default, their own requests included", async () => {
    const { approvals, id } = await project()
    assert.deepStrictEqual(approvals, { approvers: "member", ownRequests: true })
    const approval = await approvalOf(as("member"), id)
    // Allowed callers get the error of the missing device.
    assert.strictEqual(codeOf(await decide(as("member"), approval)), "target_offline")
    const viewer = await decide(as("viewer"), approval)
    assert.deepStrictEqual([viewer.status, codeOf(viewer)], [403, "permission_denied"])
  })

  it.each(
    Approvers.literals.flatMap((approvers) => [true, false].map((isOwn) => [approvers, isOwn] as const))
  )("determines who may decide: %s, own requests: %s", async (approvers, ownRequests) => {
    const { id } = await project()
    const chosen = await choose(as("owner"), id, { approvers, ownRequests })
    assert.deepStrictEqual([chosen.status, chosen.body.approvals], [200, { approvers, ownRequests }])
    const strength = (role: ProjectRole) => ProjectRole.literals.indexOf(role)
    for (const asker of ["member", "admin", "owner"] as const) {
      const approval = await approvalOf(as(asker), id)
      for (const role of ProjectRole.literals)
        for (const decision of ["allow", "deny", "cancel"]) {
          const may = strength(role) >= strength(approvers) && (ownRequests || role !== asker)
          const answer = await decide(as(role), approval, decision)
          assert.deepStrictEqual(
            [answer.status, codeOf(answer)],
            may ? [503, "target_offline"] : [403, "permission_denied"],
            `${role} on a request of ${asker}`
          )
        }
    }
  })

  it("can be changed by admins, field by field, without other changes", async () => {
    const created = await project()
    for (const role of ["viewer", "member"] as const) {
      const refused = await choose(as(role), created.id, { approvers: "member" })
      assert.deepStrictEqual([refused.status, codeOf(refused)], [403, "permission_denied"])
    }
    const first = await choose(as("admin"), created.id, { approvers: "admin" })
    assert.deepStrictEqual(first.body.approvals, { approvers: "admin", ownRequests: true })
    const second = await choose(as("admin"), created.id, { ownRequests: false })
    assert.deepStrictEqual(second.body.approvals, { approvers: "admin", ownRequests: false })
    assert.strictEqual(second.body.name, created.name)
    await as("admin").ask("PATCH", `/client/projects/${created.id}`, { body: { name: "Other" } })
    const read = await as("viewer").ask<Project>("GET", `/client/projects/${created.id}`)
    assert.deepStrictEqual(read.body.approvals, { approvers: "admin", ownRequests: false })
    for (const wrong of [{ approvers: "viewer" }, { ownRequests: "no" }, { approvers: null }, "admin"]) {
      const refused = await as("owner").ask("PATCH", `/client/projects/${created.id}`, {
        body: { approvals: wrong }
      })
      assert.deepStrictEqual([refused.status, codeOf(refused)], [422, "schema_validation_failed"])
    }
  })

  it("has the chats that receive answers, which admins change", async () => {
    const { chats, id } = await project()
    assert.deepStrictEqual(chats, { answers: "direct" })
    const change = (role: ProjectRole, body: unknown) =>
      as(role).ask<Project>("PATCH", `/client/projects/${id}`, { body: { chats: body } })
    assert.strictEqual(codeOf(await change("member", { answers: "all" })), "permission_denied")
    assert.deepStrictEqual((await change("admin", { answers: "all" })).body.chats, { answers: "all" })
    assert.deepStrictEqual((await change("admin", {})).body.chats, { answers: "all" })
    for (const wrong of [{ answers: "groups" }, { answers: null }, "all"])
      assert.strictEqual(codeOf(await change("owner", wrong)), "schema_validation_failed")
    const trail = await as("owner").ask<{ readonly items: ReadonlyArray<AuditRecord> }>(
      "GET",
      `/client/audit?projectId=${id}&action=policy.manage`
    )
    assert.deepStrictEqual(
      trail.body.items.map(({ actor, outcome }) => [actor, outcome]),
      [
        [as("admin").userId, "allowed"],
        [as("admin").userId, "allowed"]
      ]
    )
  })

  it("is audited when it refuses a decision and when it is changed", async () => {
    const { id } = await project()
    await choose(as("admin"), id, { ownRequests: false })
    const approval = await approvalOf(as("member"), id)
    await decide(as("member"), approval)
    await decide(as("admin"), approval)
    const trail = await as("owner").ask<{ readonly items: ReadonlyArray<AuditRecord> }>(
      "GET",
      `/client/audit?projectId=${id}`
    )
    assert.deepStrictEqual(
      trail.body.items
        .filter(({ action }) => action === "approval.decide" || action === "policy.manage")
        .map(({ action, actor, code, outcome, resource }) => [action, resource, actor, outcome, code]),
      [
        ["approval.decide", approval, as("admin").userId, "failed", "target_offline"],
        ["approval.decide", approval, as("member").userId, "denied", "permission_denied"],
        ["policy.manage", id, as("admin").userId, "allowed", null]
      ]
    )
  })
})
