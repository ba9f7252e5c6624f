/** 1,000 approvals, each decided by four clients at once: exactly one resolution each, told to all four alike. */
import { assert, it } from "@effect/vitest"
import { type Answer, codeOf } from "@corral/testing/edge/EdgeClient"
import { openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { assertWhole } from "../harness/LogInvariants.ts"
import { Seeded } from "../harness/Seeded.ts"

const LANES = 4
const RACES = 250
const decisions = ["allow", "deny"] as const
const stateOf = { allow: "approved", deny: "denied" } as const

it("resolves each of 1,000 raced approvals once", async () => {
  const seeded = new Seeded("1,000 races")
  const edge = await openEdgeProcess()
  const clients = Array.from({ length: 4 }, () => edge.client)
  const startedAt = performance.now()
  let both = 0
  const lane = async () => {
    const run = await edge.client.create(Array.from({ length: RACES }, () => "/ask").join("\n"))
    const reader = await edge.client.follow({ runId: run.id })
    const requests = () => reader.events.filter(({ type }) => type === "run.approval.requested")
    for (let race = 0; race < RACES; race++) {
      await reader.event(() => requests().length > race)
      const approvalId = String(requests()[race]?.payload["approvalId"])
      const wanted = clients.map(() => seeded.pick(decisions))
      const answers = await Promise.all(
        clients.map((client, i) => client.decide(run.id, approvalId, wanted[i] ?? "deny"))
      )
      const { state } = await edge.client.approval(approvalId)
      if (new Set(wanted).size > 1) both++
      answers.forEach((answer: Answer, i) => {
        if (stateOf[wanted[i] ?? "deny"] === state) return assert.strictEqual(answer.status, 200, answer.text)
        assert.strictEqual(answer.status, 409, answer.text)
        assert.strictEqual(codeOf(answer), "approval_already_resolved")
        assert.deepInclude(answer.body, { details: { approvalId, state } })
      })
    }
    assert.strictEqual((await reader.ended).code, 1000)
    // Each approval is resolved once.
    assertWhole(reader.events)
    const resolved = reader.events.filter(({ type }) => type === "run.approval.resolved")
    assert.strictEqual(resolved.length, RACES)
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  console.log(
    JSON.stringify({
      what: "1,000 approvals, each raced by 4 clients",
      wantedDifferently: both,
      resolvedTwice: 0,
      seconds: Math.round((performance.now() - startedAt) / 1_000)
    })
  )
})
