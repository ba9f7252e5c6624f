/** A thousand approvals that two editors and another client decide together: one winner each, named in every editor. */
import { type ApprovalId, encodeUlid } from "@corral/domain/identity/Ids"
import type { AgentHostClient } from "@corral/testing/editor/AgentHostClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chatAddress, sessionAddress } from "../src/protocol/Addresses.ts"
import { serveHost } from "./HostServer.ts"
import { agentId, MemoryServices, person } from "./MemoryServices.ts"

const DECISIONS = 1_000

describe("the agent host", { timeout: 600_000 }, () => {
  it.live("1,000 raced decisions have one winner each, named in every client", () =>
    Effect.gen(function* () {
      const services = new MemoryServices()
      const ann = services.connect(person("ann"))
      const bob = services.connect(person("bob"))
      const other = services.connect(person("carol"))
      const server = yield* serveHost((path) => (path === "/bob" ? bob.backend : ann.backend))
      const id = services.newSession()
      const chat = chatAddress(sessionAddress(agentId, id))
      const clients = [yield* server.open("/ann"), yield* server.open("/bob")]
      for (const client of clients) yield* Effect.promise(() => client.subscribe(chat))
      const winners = new Map<string, number>()
      let run = services.newRun(id, "work")
      for (let n = 0; n < DECISIONS; n++) {
        // A run has few calls: the state of a turn grows with them.
        if (n % 50 === 49) {
          services.emit(run, "run.completed", {})
          run = services.newRun(id, "work")
        }
        const approvalId = `apr_${encodeUlid(n + 1, new Uint8Array(10))}` as ApprovalId // shaped by encodeUlid
        const title = `Write ${n}.`
        services.emit(run, "run.approval.requested", {
          approvalId,
          request: { action: "write", risk: "low", title, editable: false, scopes: ["once"] },
          expiresAt: "2026-12-01T00:00:00.000Z"
        })
        const toolCallId = `${run}/${approvalId}`
        const ready = (client: AgentHostClient) =>
          client.action(
            ({ action }) => action["toolCallId"] === toolCallId && action["options"] !== undefined
          )
        yield* Effect.promise(() => Promise.all(clients.map(ready)))
        const decide = (client: AgentHostClient) =>
          client.perform(chat, {
            type: "chat/toolCallConfirmed",
            turnId: `${run}.1`,
            toolCallId,
            approved: true,
            confirmed: "user-action",
            selectedOptionId: `${approvalId}/allow_once`
          })
        const racing = Effect.ignore(
          other.backend.decide({ runId: run, approvalId, decision: "deny" }, `carol:${approvalId}`)
        )
        yield* Effect.all([...clients.map((client) => Effect.promise(() => decide(client))), racing], {
          concurrency: "unbounded"
        })
        const decided = services.decided.filter((each) => each.approvalId === approvalId)
        assert.lengthOf(decided, 1)
        const [{ by = "", decision = "" } = {}] = decided
        winners.set(by, (winners.get(by) ?? 0) + 1)
        const line = `${decision === "allow" ? "Allowed once" : "Denied"} by ${by} in an editor: ${title}`
        const named = (client: AgentHostClient) =>
          client.action(({ action }) => JSON.stringify(action["part"] ?? "").includes(line))
        yield* Effect.promise(() => Promise.all(clients.map(named)))
        for (const client of clients) client.actions.length = 0
      }
      assert.strictEqual(
        [...winners.values()].reduce((sum, count) => sum + count, 0),
        DECISIONS
      )
    })
  )
})
