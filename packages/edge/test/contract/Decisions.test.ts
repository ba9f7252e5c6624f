/** The record of a decision at the Edge: the event, the approval and its list agree for every decision. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { ORIGIN_HEADER } from "@corral/domain/approval/Approval"
import type { EdgeClient } from "@corral/testing/edge/EdgeClient"
import { EdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
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

const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"

interface Case {
  readonly decision: "allow" | "deny" | "cancel"
  readonly scope?: "once" | "run" | "session" | "always"
  readonly origin?: "terminal" | "editor"
  /** Whether the decision carries another input, and whether that input is new. */
  readonly input?: "none" | "same" | "other" | "secret"
}

const decisions = ["allow", "deny", "cancel"] as const
const scopes = [undefined, "once", "run", "session", "always"] as const
const cases: ReadonlyArray<Case> = [
  ...decisions.flatMap((decision) =>
    scopes.flatMap((scope) =>
      (["none", "same", "other"] as const).map((input) => ({
        decision,
        input,
        ...(scope === undefined ? {} : { scope }),
        ...(input === "same" ? { origin: "editor" as const } : {})
      }))
    )
  ),
  { decision: "allow", input: "secret" }
]

const nameOf = ({ decision, input, origin = "terminal", scope }: Case): string =>
  `${decision}, ${scope ?? "no scope"}, ${input} input, from ${origin}`

describe("a decision", () => {
  let written = 0
  for (const one of cases) {
    it.concurrent(nameOf(one), async () => {
      const { decision, input, origin, scope } = one
      const name = `decided-${written++}.txt`
      const run = await client.create(`/write ${name} as asked\n/say after`)
      const reader = await client.follow({ runId: run.id })
      const request = await reader.event("run.approval.requested")
      const id = String(request.payload["approvalId"])
      const requested = (await client.approval(id)).request.input as Record<string, unknown>
      const updated = {
        none: undefined,
        same: requested,
        other: { ...requested, content: "as edited" },
        secret: { ...requested, content: secret }
      }[input ?? "none"]
      const answer = await client.ask("POST", "/v1/permissions/decide", {
        body: {
          runId: run.id,
          approvalId: id,
          decision,
          ...(scope === undefined ? {} : { scope }),
          ...(updated === undefined ? {} : { updatedInput: updated })
        },
        ...(origin === undefined ? {} : { headers: { [ORIGIN_HEADER]: origin } })
      })
      assert.strictEqual(answer.status, 200, answer.text)
      await reader.ended
      assertWhole(reader.events)

      const edited = decision === "allow" && (input === "other" || input === "secret")
      const approval = await client.approval(id)
      const resolved = reader.events.find(({ type }) => type === "run.approval.resolved")?.payload ?? {}
      const recorded = {
        decision,
        edited,
        origin: origin ?? "terminal",
        scope: approval.scope
      }
      assert.deepInclude<object>(approval, { ...recorded, decidedBy: "local" })
      assert.deepInclude(resolved, { ...recorded, by: "local" })
      assert.isTrue(
        decision === "allow" && !edited ? approval.scope !== undefined : approval.scope === "once"
      )
      assert.deepStrictEqual((await client.approvals(`runId=${run.id}`))[0], approval)
      assert.deepStrictEqual(approval.request.input, requested)
      assert.strictEqual("allowedInput" in approval, edited)
      assert.deepStrictEqual(resolved["allowedInput"], approval.allowedInput)
      assert.deepStrictEqual(resolved["requestedInput"], edited ? requested : undefined)
      if (input === "other" && edited) assert.deepStrictEqual(approval.allowedInput, updated)
      if (input === "secret") {
        assert.notInclude(JSON.stringify([reader.events, approval]), secret)
        assert.include(JSON.stringify(approval.allowedInput), "redacted")
      }
    })
  }

  it("of the policy has the origin policy", async () => {
    const run = await client.create("/ask", "read_only")
    const events = await client.log(run.id)
    const resolved = events.find(({ type }) => type === "run.approval.resolved")
    const recorded = { decision: "deny", edited: false, origin: "policy", by: "policy:mode" }
    assert.deepInclude(resolved?.payload, recorded)
  })
})
