/** Authorization over the whole chain: a rejected request has the error code of the contract, is audited, and starts nothing. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { AuditRecord } from "@corral/domain/access/Audit"
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import { codeOf, type HubClient } from "@corral/testing/hub/HubClient"
import { refusedUpgrade, StreamReader } from "@corral/testing/hub/StreamReader"
import { until } from "@corral/testing/time/Until"
import { Joined } from "@corral/testing/stack/Joined"

describe("authority over the whole chain", () => {
  let joined: Joined
  let viewer: HubClient
  let stranger: HubClient
  beforeAll(async () => {
    joined = await Joined.open()
    viewer = await joined.hub.signedIn("viewer")
    stranger = await joined.hub.signedIn("stranger")
    const added = await joined.owner.ask("POST", `/client/projects/${joined.projectId}/members`, {
      body: { userId: viewer.userId, role: "viewer" }
    })
    assert.strictEqual(added.status, 201, added.text)
  })
  afterAll(() => joined.remove())

  const denials = async (actor: string | undefined) => {
    const { body } = await joined.owner.ask<{ readonly items: ReadonlyArray<AuditRecord> }>(
      "GET",
      `/client/audit?projectId=${joined.projectId}&actor=${actor}&limit=200`
    )
    return body.items
      .filter(({ outcome }) => outcome === "denied")
      .map(({ action, code }) => `${action} ${code}`)
  }
  const runsHere = async (): Promise<number> =>
    ((await joined.edge.client.ask("GET", "/v1/runs")).body as { readonly items: ReadonlyArray<unknown> })
      .items.length

  it("rejects tasks of viewers and of members of other projects", async () => {
    const before = await runsHere()
    for (const client of [viewer, stranger]) {
      const refused = await joined.tryTask({ text: "/say no" }, client)
      assert.deepStrictEqual([refused.status, codeOf(refused)], [403, "permission_denied"])
      assert.include(await denials(client.userId), "task.create permission_denied")
    }
    assert.strictEqual(await runsHere(), before)
  })

  it("rejects a task in a workspace that the device does not offer", async () => {
    const before = await runsHere()
    const refused = await joined.tryTask({ text: "/say no", workspace: "elsewhere" })
    assert.deepStrictEqual([refused.status, codeOf(refused)], [403, "workspace_outside_allowlist"])
    const unknown = await joined.tryTask({ text: "/say no", agentId: "unknown" })
    assert.deepStrictEqual([unknown.status, codeOf(unknown)], [400, "invalid_agent_id"])
    assert.strictEqual(await runsHere(), before)
  })

  it("lets a viewer follow but not decide, and hides the run from other users", async () => {
    const { runId } = await joined.task({ text: "/write never.txt x" })
    const { pendingApprovals } = await joined.runWith(runId, (run) => run.pendingApprovals.length > 0)
    const reader = await StreamReader.open(viewer, `runId=${runId}`)
    await reader.count(3)
    const decide = `/client/approvals/${pendingApprovals[0]}/decide`
    for (const client of [viewer, stranger]) {
      assert.strictEqual(
        codeOf(await client.ask("POST", decide, { body: { decision: "allow" } })),
        "permission_denied"
      )
      assert.strictEqual(
        codeOf(await client.ask("POST", `/client/runs/${runId}/cancel`)),
        "permission_denied"
      )
      assert.include(await denials(client.userId), "approval.decide permission_denied")
    }
    assert.strictEqual((await refusedUpgrade(stranger, `runId=${runId}`)).body.code, "permission_denied")
    const approval = await joined.edge.client.approval(pendingApprovals[0] ?? "")
    assert.strictEqual(approval.state, "pending")
    const denied = await joined.owner.ask<HubApproval>("POST", decide, { body: { decision: "deny" } })
    assert.strictEqual(denied.body.state, "denied")
    await joined.runWith(runId, ({ state }) => state === "completed")
  })

  it("rejects tasks for a device that is no longer shared or was revoked", async () => {
    const { deviceId, edge } = await joined.addEdge()
    const member = await joined.hub.signedIn("member")
    const added = await joined.owner.ask("POST", `/client/projects/${joined.projectId}/members`, {
      body: { userId: member.userId, role: "member" }
    })
    assert.strictEqual(added.status, 201, added.text)
    const body = {
      projectId: joined.projectId,
      targetId: deviceId,
      workspace: "ws",
      agentId: "scripted",
      mode: "ask",
      input: { text: "/wait" }
    }
    const ask = (client: HubClient) =>
      client.ask<{ readonly id: string }>("POST", "/web/agent-tasks", { body })
    const allowed = await ask(member)
    assert.strictEqual(allowed.status, 201, allowed.text)
    const { runId } = await joined.taskWith(allowed.body.id, (task) => task.state === "running", member)
    assert.isDefined(runId)

    await joined.owner.ask("PATCH", `/client/devices/${deviceId}`, { body: { sharedWith: [] } })
    const unshared = await ask(member)
    assert.deepStrictEqual([unshared.status, codeOf(unshared)], [403, "unauthorized_target"])
    assert.strictEqual(
      codeOf(await member.ask("POST", `/client/runs/${runId}/cancel`)),
      "unauthorized_target"
    )

    await joined.owner.ask("PATCH", `/client/devices/${deviceId}`, { body: { state: "revoked" } })
    const revoked = await ask(joined.owner)
    assert.deepStrictEqual([revoked.status, codeOf(revoked)], [403, "unauthorized_target"])
    // The run on the device continues, but the Hub no longer receives its events.
    assert.strictEqual((await edge.client.run(runId)).state, "running")
    await until(async () => {
      const { body } = await edge.client.ask("GET", "/v1/health")
      return JSON.stringify(body).includes("refused") ? true : undefined
    }, "the link's refusal at the Edge")
  })

  it("closes the streams of a revoked sign-in and rejects its requests", async () => {
    const owner = await joined.hub.signedIn("owner")
    const { runId } = await joined.task({ text: "/wait" }, owner)
    const reader = await StreamReader.open(owner, `runId=${runId}`)
    await reader.count(2)
    assert.strictEqual((await owner.ask("POST", "/client/auth/logout", { body: {} })).status, 204)
    assert.strictEqual((await reader.closed(2_000)).code, 4401)
    assert.strictEqual(codeOf(await owner.ask("POST", `/client/runs/${runId}/cancel`)), "unauthorized")
    const cancelled = await joined.owner.ask("POST", `/client/runs/${runId}/cancel`)
    assert.deepInclude(cancelled.body as object, { state: "cancelled" })
  })
})
