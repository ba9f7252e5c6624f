import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { AuditRecord } from "@corral/domain/access/Audit"
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import type { ApprovalId, ProjectId, RunId } from "@corral/domain/identity/Ids"
import { codeOf, type HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import {
  approvalRequested,
  createdRun,
  Mirror,
  newId,
  approvalResolved,
  runStarted,
  startMirror
} from "@corral/testing/hub/Mirror"

interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly nextCursor: string | null
}

describe("/client/approvals", () => {
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

  const approval = async (
    state?: "approved" | "cancelled" | "denied" | "expired",
    of = project
  ): Promise<{ readonly id: ApprovalId; readonly runId: RunId }> => {
    const id = newId<ApprovalId>("apr")
    const runId = await mirror.run(
      of,
      createdRun,
      runStarted,
      approvalRequested(id),
      ...(state === undefined ? [] : [approvalResolved(id, state)])
    )
    return { id, runId }
  }
  const decide = (client: HubClient, id: string, body: unknown, key?: string) =>
    client.ask<HubApproval>("POST", `/client/approvals/${id}/decide`, {
      body,
      ...(key === undefined ? {} : { headers: { "idempotency-key": key } })
    })
  const ids = async (client: HubClient, query: string) =>
    (await client.ask<Page<HubApproval>>("GET", `/client/approvals?${query}`)).body.items.map(({ id }) => id)

  it("lists approvals for readers, oldest first, by project, run and state", async () => {
    const ownProject = await mirror.project(ada.userId)
    const waiting = await approval(undefined, ownProject)
    const denied = await approval("denied", ownProject)
    const later = await approval(undefined, ownProject)
    assert.deepStrictEqual(await ids(ada, `projectId=${ownProject}`), [waiting.id, denied.id, later.id])
    assert.deepStrictEqual(await ids(ada, `projectId=${ownProject}&state=pending`), [waiting.id, later.id])
    assert.deepStrictEqual(await ids(ada, `runId=${denied.runId}`), [denied.id])
    assert.deepStrictEqual(await ids(ada, `runId=${denied.runId}&projectId=${ownProject}&state=pending`), [])
    assert.includeMembers([...(await ids(ada, "state=pending&limit=200"))], [waiting.id, later.id])
    const first = await ada.ask<Page<HubApproval>>("GET", `/client/approvals?projectId=${ownProject}&limit=2`)
    assert.deepStrictEqual(
      await ids(ada, `projectId=${ownProject}&limit=2&cursor=${first.body.nextCursor}`),
      [later.id]
    )
    assert.deepStrictEqual(await ids(bob, ""), [])
    assert.deepStrictEqual(await ids(bob, `runId=${waiting.runId}`), [])
    const foreign = await bob.ask("GET", `/client/approvals?projectId=${ownProject}`)
    assert.deepStrictEqual([foreign.status, codeOf(foreign)], [403, "permission_denied"])
    const wrong = await ada.ask("GET", "/client/approvals?state=waiting")
    assert.deepStrictEqual([wrong.status, codeOf(wrong)], [422, "schema_validation_failed"])
  })

  it("returns an approval in any state to readers of its project", async () => {
    const vera = await hub.signedIn("vera of one")
    await mirror.member(ada.userId, project, vera.userId, "viewer")
    for (const state of [undefined, "approved", "denied", "expired", "cancelled"] as const) {
      const { id, runId } = await approval(state)
      for (const client of [ada, vera]) {
        const { body, status } = await client.ask<HubApproval>("GET", `/client/approvals/${id}`)
        assert.deepStrictEqual(
          [status, body.id, body.runId, body.state],
          [200, id, runId, state ?? "pending"]
        )
      }
      const foreign = await bob.ask("GET", `/client/approvals/${id}`)
      assert.deepStrictEqual([foreign.status, codeOf(foreign)], [403, "permission_denied"])
    }
    const absent = await ada.ask("GET", `/client/approvals/${newId("apr")}`)
    assert.deepStrictEqual([absent.status, codeOf(absent)], [403, "permission_denied"])
  })

  it("returns target_offline while the Edge is offline, and stores nothing for the key", async () => {
    const { id, runId } = await approval()
    for (let i = 0; i < 2; i++) {
      const offline = await decide(ada, id, { decision: "allow" }, "key-1")
      assert.deepStrictEqual([offline.status, codeOf(offline)], [503, "target_offline"])
    }
    assert.deepStrictEqual(await ids(ada, `runId=${runId}&state=pending`), [id])
  })

  it.each(["approved", "denied", "cancelled"] as const)(
    "is not decided again once it is %s",
    async (state) => {
      const { id } = await approval(state)
      const same = { approved: "allow", denied: "deny", cancelled: "cancel" }[state]
      for (const decision of ["allow", "deny", "cancel"]) {
        const answer = await decide(ada, id, { decision })
        if (decision === same) {
          assert.deepStrictEqual(
            [answer.status, answer.body.state, answer.body.decidedBy],
            [200, state, "someone"]
          )
        } else {
          assert.deepStrictEqual([answer.status, codeOf(answer)], [409, "approval_already_resolved"])
          assert.deepInclude<object>(answer.body, { details: { approvalId: id, state } })
        }
      }
    }
  )

  it("returns approval_expired after the expiry", async () => {
    const { id } = await approval("expired")
    const late = await decide(ada, id, { decision: "deny" })
    assert.deepStrictEqual([late.status, codeOf(late)], [410, "approval_expired"])
    assert.deepInclude<object>(late.body, { details: { approvalId: id, state: "expired" } })
  })

  it("returns the same response for the same idempotency key", async () => {
    const { id } = await approval("approved")
    const first = await decide(ada, id, { decision: "allow" }, "key-2")
    const again = await decide(ada, id, { decision: "allow" }, "key-2")
    assert.deepStrictEqual([again.status, again.body], [200, first.body])
    assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
    const other = await decide(ada, id, { decision: "deny" }, "key-2")
    assert.deepStrictEqual([other.status, codeOf(other)], [409, "idempotency_conflict"])
  })

  it("lets members decide on targets of the project; forbidden and missing approvals are indistinguishable", async () => {
    const { id } = await approval()
    const [vera, mia] = [await hub.signedIn("vera"), await hub.signedIn("mia")]
    await mirror.member(ada.userId, project, vera.userId, "viewer")
    await mirror.member(ada.userId, project, mia.userId, "member")
    for (const [client, approvalId] of [
      [vera, id],
      [bob, id],
      [bob, newId<ApprovalId>("apr")]
    ] as const) {
      const refused = await decide(client, approvalId, { decision: "allow" })
      assert.deepStrictEqual([refused.status, codeOf(refused)], [403, "permission_denied"])
    }
    assert.strictEqual(codeOf(await decide(mia, id, { decision: "allow" })), "target_offline")
    const unshared = new Mirror(hub)
    const elsewhere = newId<ApprovalId>("apr")
    await unshared.run(project, createdRun, runStarted, approvalRequested(elsewhere))
    await unshared.device(ada.userId)
    const refused = await decide(mia, elsewhere, { decision: "allow" })
    assert.deepStrictEqual([refused.status, codeOf(refused)], [403, "unauthorized_target"])
  })

  it("audits every outcome of a decision", async () => {
    const ownProject = await mirror.project(ada.userId)
    await mirror.member(ada.userId, ownProject, bob.userId, "viewer")
    const { id } = await approval("approved", ownProject)
    await decide(ada, id, { decision: "allow", reason: "a private reason" })
    await decide(ada, id, { decision: "deny" })
    await decide(bob, id, { decision: "allow" })
    const trail = await ada.ask<Page<AuditRecord>>("GET", `/client/audit?projectId=${ownProject}`)
    assert.deepStrictEqual(
      trail.body.items.map(({ action, code, outcome, resource }) => [action, resource, outcome, code]),
      [
        ["approval.decide", id, "denied", "permission_denied"],
        ["approval.decide", id, "failed", "approval_already_resolved"],
        ["approval.decide", id, "allowed", null]
      ]
    )
    assert.notInclude(trail.text, "private reason")
  })

  it("rejects an invalid decision", async () => {
    const { id } = await approval()
    for (const body of [
      {},
      { decision: "yes" },
      { decision: "allow", scope: "ever" },
      { decision: "deny", reason: "x".repeat(10_000) }
    ]) {
      const refused = await decide(ada, id, body)
      assert.deepStrictEqual([refused.status, codeOf(refused)], [422, "schema_validation_failed"])
    }
  })
})
