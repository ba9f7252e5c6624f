/** Approvals as a client meets them: decided, raced, remembered, expired; and the modes that answer before anybody is asked. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { codeOf, type EdgeClient, type EventReader } from "@corral/testing/edge/EdgeClient"
import { EdgeInProcess, openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import type { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { assertWhole } from "../harness/LogInvariants.ts"

let edge: EdgeProcess
let client: EdgeClient
beforeAll(async () => {
  edge = new EdgeInProcess()
  await edge.start()
  client = edge.client
})
afterAll(() => edge.remove())

const file = (name: string) => join(edge.workspace, name)

interface PendingAction {
  readonly runId: string
  readonly approvalId: string
  readonly reader: EventReader
}

/** The id of the nth approval that the run asks for. */
const nthAsked = async (reader: EventReader, n = 1): Promise<string> => {
  const requests = () => reader.events.filter(({ type }) => type === "run.approval.requested")
  await reader.event(() => requests().length >= n)
  return String(requests()[n - 1]?.payload["approvalId"])
}

const ask = async (script: string): Promise<PendingAction> => {
  const run = await client.create(script)
  const reader = await client.follow({ runId: run.id })
  return { runId: run.id, reader, approvalId: await nthAsked(reader) }
}

const ended = async ({ reader }: { readonly reader: EventReader }) => {
  assert.strictEqual((await reader.ended).code, 1000)
  assertWhole(reader.events)
  return reader.events.at(-1)?.type
}

const resolutionOf = ({ approvalId, reader }: PendingAction) =>
  reader.events.find((e) => e.type === "run.approval.resolved" && e.payload["approvalId"] === approvalId)
    ?.payload

describe("A decision", () => {
  it("to allow lets the action happen, and not before", async () => {
    const approval = await ask("/write allowed.txt hello")
    const run = await client.run(approval.runId)
    assert.strictEqual(run.state, "waiting_approval")
    assert.deepStrictEqual(run.pendingApprovals.map(String), [approval.approvalId])
    const [pending] = await client.approvals(`runId=${approval.runId}&state=pending`)
    assert.strictEqual(pending?.id, approval.approvalId)
    assert.deepStrictEqual(pending?.request.files, ["allowed.txt"])
    assert.isFalse(existsSync(file("allowed.txt")))
    const answer = await client.decide(approval.runId, approval.approvalId, "allow")
    assert.strictEqual(answer.status, 200)
    assert.strictEqual(await ended(approval), "run.completed")
    assert.strictEqual(readFileSync(file("allowed.txt"), "utf8"), "hello\n")
    const { decidedBy, scope, state } = await client.approval(approval.approvalId)
    assert.deepStrictEqual(
      { decidedBy, scope, state },
      { decidedBy: "local", scope: "once", state: "approved" }
    )
  })

  it("to deny sends the agent back to work with the reason", async () => {
    const approval = await ask("/write denied.txt hello\n/say still here")
    await client.decide(approval.runId, approval.approvalId, "deny", { reason: "not today" })
    assert.strictEqual(await ended(approval), "run.completed")
    assert.isFalse(existsSync(file("denied.txt")))
    assert.deepInclude(resolutionOf(approval), { state: "denied", reason: "not today", by: "local" })
    const result = approval.reader.events.find((e) => e.type === "run.tool.result")
    assert.deepInclude(result?.payload, { status: "denied", output: "not today" })
    await approval.reader.message("still here")
  })

  it("may edit what was asked for", async () => {
    const approval = await ask("/write edited.txt as asked")
    const updatedInput = { content: "as edited" }
    await client.decide(approval.runId, approval.approvalId, "allow", { updatedInput })
    assert.strictEqual(await ended(approval), "run.completed")
    assert.strictEqual(readFileSync(file("edited.txt"), "utf8"), "as edited")
  })

  it("cannot edit what the runtime takes only as it is, and waits on", async () => {
    const approval = await ask("/ask")
    assert.isFalse((await client.approval(approval.approvalId)).request.editable)
    const updatedInput = { content: "edited" }
    const refused = await client.decide(approval.runId, approval.approvalId, "allow", { updatedInput })
    assert.strictEqual(codeOf(refused), "schema_validation_failed")
    assert.include(refused.text, "updatedInput")
    assert.strictEqual((await client.approval(approval.approvalId)).state, "pending")
    await client.decide(approval.runId, approval.approvalId, "allow")
    assert.strictEqual(await ended(approval), "run.completed")
  })

  it("to cancel ends the run", async () => {
    const approval = await ask("/write cancelled.txt hello")
    const answer = await client.decide(approval.runId, approval.approvalId, "cancel", { reason: "stop all" })
    assert.strictEqual(answer.status, 200)
    assert.strictEqual(await ended(approval), "run.cancelled")
    assert.isFalse(existsSync(file("cancelled.txt")))
    assert.strictEqual((await client.approval(approval.approvalId)).state, "cancelled")
  })

  it("for the run is remembered for the same action and no other", async () => {
    const approval = await ask("/shell echo one\n/shell echo one\n/shell echo two")
    await client.decide(approval.runId, approval.approvalId, "allow", { scope: "run" })
    const other = await nthAsked(approval.reader, 3)
    assert.strictEqual((await client.approval(other)).request.command, "echo two")
    const states = (await client.approvals(`runId=${approval.runId}`)).map(({ decidedBy, state }) => [
      state,
      decidedBy
    ])
    assert.deepStrictEqual(states, [
      ["approved", "local"],
      ["approved", `policy:remembered:${approval.approvalId}`],
      ["pending", undefined]
    ])
    await client.decide(approval.runId, other, "deny")
    assert.strictEqual(await ended(approval), "run.completed")
    const next = await ask("/shell echo one")
    await client.decide(next.runId, next.approvalId, "deny")
    assert.strictEqual(await ended(next), "run.completed")
  })

  it("on what holds a secret is made without it, each time, and lets happen what was really asked", async () => {
    const key = `ghp_${"a1B2".repeat(6)}`
    const command = `printf %s ${key} > told.txt`
    const approval = await ask(`/shell ${command}\n/shell ${command}`)
    const { request } = await client.approval(approval.approvalId)
    assert.deepStrictEqual(
      [request.command, request.scopes, request.editable],
      ["printf %s [redacted] > told.txt", ["once"], false]
    )
    await client.decide(approval.runId, approval.approvalId, "allow", { scope: "run" })
    const again = await nthAsked(approval.reader, 2)
    assert.strictEqual(readFileSync(file("told.txt"), "utf8"), key)
    await client.decide(approval.runId, again, "deny")
    assert.strictEqual(await ended(approval), "run.completed")
    const messages = approval.reader.events.filter(({ type }) => type !== "run.created")
    assert.notInclude(JSON.stringify(messages), key)
  })

  it("is one, however many decide at once", async () => {
    const { reader, runId } = await ask(Array.from({ length: 50 }, () => "/ask").join("\n"))
    for (let race = 1; race <= 50; race++) {
      const approvalId = await nthAsked(reader, race)
      const wanted = race % 3 === 0 ? (["allow", "allow"] as const) : (["allow", "deny"] as const)
      const answers = await Promise.all(wanted.map((decision) => client.decide(runId, approvalId, decision)))
      const statuses = answers.map(({ status }) => status).sort()
      assert.deepStrictEqual(statuses, race % 3 === 0 ? [200, 200] : [200, 409])
      const { state } = await client.approval(approvalId)
      for (const answer of answers) {
        if (answer.status === 200)
          assert.strictEqual((answer.body as { readonly state?: unknown }).state, state)
        else
          assert.deepInclude(answer.body, {
            code: "approval_already_resolved",
            details: { approvalId, state }
          })
      }
    }
    assert.strictEqual(await ended({ reader }), "run.completed")
    assert.strictEqual(reader.events.filter(({ type }) => type === "run.approval.resolved").length, 50)
  })

  it("after the end is answered from what happened", async () => {
    const approval = await ask("/ask")
    await client.decide(approval.runId, approval.approvalId, "allow")
    assert.strictEqual(await ended(approval), "run.completed")
    assert.strictEqual((await client.decide(approval.runId, approval.approvalId, "allow")).status, 200)
    const other = await client.decide(approval.runId, approval.approvalId, "deny")
    assert.deepStrictEqual([other.status, codeOf(other)], [409, "approval_already_resolved"])
  })

  it("on what is not there is not_found, and changes nothing", async () => {
    const [one, two] = await Promise.all([ask("/ask"), ask("/ask")])
    const cases = [
      await client.decide(one.runId, two.approvalId, "allow"),
      await client.decide(one.runId, "apr_00000000000000000000000000", "allow"),
      await client.decide("run_00000000000000000000000000", one.approvalId, "allow")
    ]
    assert.deepStrictEqual(
      cases.map((each) => [each.status, codeOf(each)]),
      cases.map(() => [404, "not_found"])
    )
    for (const requested of [one, two]) {
      assert.strictEqual((await client.approval(requested.approvalId)).state, "pending")
      await client.decide(requested.runId, requested.approvalId, "deny")
      assert.strictEqual(await ended(requested), "run.completed")
    }
  })
})

describe("An approval without a decision", () => {
  it("expires as a denial", async () => {
    const separateEdge = await openEdgeInProcess({ env: { CORRAL_EDGE_APPROVAL_TTL_MS: "1000" } })
    const run = await separateEdge.client.create("/write never.txt hello\n/say still here")
    const reader = await separateEdge.client.follow({ runId: run.id })
    const id = await nthAsked(reader)
    assert.strictEqual(await ended({ reader }), "run.completed")
    assert.strictEqual((await separateEdge.client.approval(id)).state, "expired")
    assert.isFalse(existsSync(join(separateEdge.workspace, "never.txt")))
    const late = await separateEdge.client.decide(run.id, id, "allow")
    assert.deepStrictEqual([late.status, codeOf(late)], [410, "approval_expired"])
    assert.deepInclude(late.body, { details: { approvalId: id, state: "expired" } })
  })
})

describe("The mode", () => {
  for (const mode of ["read_only", "plan"] as const) {
    it(`${mode} changes nothing and requests no approval`, async () => {
      const name = `${mode}.txt`
      const run = await client.create(`/write ${name} hello\n/shell touch ${name}\n/ask`, mode)
      const events = await client.log(run.id)
      assertWhole(events)
      assert.strictEqual(events.at(-1)?.type, "run.completed")
      assert.isFalse(existsSync(file(name)))
      const approvals = await client.approvals(`runId=${run.id}`)
      assert.deepStrictEqual(
        approvals.map(({ decidedBy, state }) => [state, decidedBy]),
        [["denied", "policy:mode"]]
      )
    })
  }

  it("auto_edit writes inside the workspace without a person, and asks for the rest", async () => {
    const run = await client.create(
      "/write auto.txt hello\n/write ../outside.txt hello\n/shell touch auto2.txt",
      "auto_edit"
    )
    const reader = await client.follow({ runId: run.id })
    const id = await nthAsked(reader)
    assert.strictEqual(readFileSync(file("auto.txt"), "utf8"), "hello\n")
    assert.strictEqual((await client.approval(id)).request.action, "shell")
    await client.decide(run.id, id, "deny")
    assert.strictEqual(await ended({ reader }), "run.completed")
    assert.isFalse(existsSync(file("auto2.txt")))
    assert.isFalse(existsSync(join(edge.folder, "outside.txt")))
  })

  it("full_access is refused without a grant, and requests no approval with one", async () => {
    const refused = await client.tryCreate("/say hello", "full_access")
    assert.deepStrictEqual([refused.status, codeOf(refused)], [403, "permission_denied"])
    const separateEdge = await openEdgeInProcess({ grants: ["full_access"] })
    const run = await separateEdge.client.create(
      "/write full.txt hello\n/shell touch full2.txt\n/ask",
      "full_access"
    )
    const events = await separateEdge.client.log(run.id)
    assertWhole(events)
    assert.strictEqual(events.at(-1)?.type, "run.completed")
    assert.isTrue(
      existsSync(join(separateEdge.workspace, "full.txt")) &&
        existsSync(join(separateEdge.workspace, "full2.txt"))
    )
  })
})
