import type { AdapterOutput } from "@corral/domain/run/RuntimeAdapter"
import { assert, describe, it } from "@effect/vitest"
import { isIgnored, isNotice } from "../../src/codex/Notifications.ts"
import { codex } from "../../src/Codex.ts"
import { events, item, send, start, startProtocol, turnStarted } from "./Conversation.ts"
import { notifications } from "./Notifications.ts"

const noticesIn = (outputs: ReadonlyArray<AdapterOutput>) =>
  events(outputs).flatMap((event) => (event.type === "run.notice" ? [event.payload] : []))

const notify = (method: string, params: object = {}) => ({ method, params: { threadId: "own", ...params } })

describe("notifications of Codex", () => {
  /** Read by the conversation itself. */
  const read = [
    "error",
    "item/agentMessage/delta",
    "item/completed",
    "item/fileChange/patchUpdated",
    "item/reasoning/summaryTextDelta",
    "item/reasoning/textDelta",
    "item/started",
    "serverRequest/resolved",
    "thread/closed",
    "thread/goal/cleared",
    "thread/goal/updated",
    "thread/status/changed",
    "thread/tokenUsage/updated",
    "turn/completed",
    "turn/diff/updated",
    "turn/plan/updated",
    "turn/started"
  ]

  it("are read, shown as notices or ignored for a reason, each in one way", () => {
    for (const method of notifications) {
      const ways = [read.includes(method), isNotice(method), isIgnored(method)].filter(Boolean)
      assert.lengthOf(ways, 1, method)
      const outputs = send(startProtocol(), notify(method))
      assert.isFalse(
        outputs.some(({ _tag }) => _tag === "Unknown" && method !== "item/completed"),
        method
      )
    }
  })
})

describe("notices of Codex", () => {
  const notice = (method: string, params: object) =>
    noticesIn(send(startProtocol(), notify(method, params)))[0]

  it("tell of another model, a limit, a warning and a server that did not start", () => {
    assert.deepInclude(notice("model/rerouted", { fromModel: "a", toModel: "b", reason: "capacity" }), {
      kind: "model_changed",
      text: "The model service answers with b instead of a."
    })
    assert.deepInclude(
      notice("account/rateLimits/updated", { rateLimits: { primary: { usedPercent: 93 } } }),
      {
        kind: "rate_limited"
      }
    )
    assert.isUndefined(notice("account/rateLimits/updated", { rateLimits: { primary: { usedPercent: 12 } } }))
    assert.deepInclude(
      notice("account/rateLimits/updated", { rateLimits: { rateLimitReachedType: "rate_limit_reached" } }),
      { kind: "rate_limited", data: { type: "rate_limit_reached" } }
    )
    assert.deepInclude(notice("warning", { message: "Careful." }), { kind: "warning", text: "Careful." })
    assert.deepInclude(
      notice("mcpServer/startupStatus/updated", { name: "tracker", status: "failed", error: "gone" }),
      {
        kind: "warning",
        text: "The MCP server tracker did not start.\ngone"
      }
    )
    assert.isUndefined(
      notice("mcpServer/startupStatus/updated", { name: "tracker", status: "ready", error: null })
    )
  })

  it("come once, but once for each turn that compacts the conversation", () => {
    const compact = (turnId: string) => [
      {
        method: "item/completed",
        params: { threadId: "own", turnId, item: { type: "contextCompaction", id: turnId } }
      },
      notify("thread/compacted", { turnId })
    ]
    const outputs = send(
      startProtocol(),
      notify("warning", { message: "Careful." }),
      notify("warning", { message: "Careful." }),
      ...compact("turn-1"),
      ...compact("turn-2")
    )
    assert.deepStrictEqual(
      noticesIn(outputs).map(({ kind }) => kind),
      ["warning", "compacted", "compacted"]
    )
  })

  it("report a moderated answer", () => {
    const message = {
      type: "agentMessage",
      id: "m",
      text: "I can't.",
      moderation: { moderated: true, display: null }
    }
    assert.strictEqual(noticesIn(send(startProtocol(), item("completed", message)))[0]?.kind, "refused")
  })

  it("wait for the start of the run", () => {
    const protocol = codex.protocol(start)
    const early = { method: "warning", params: { threadId: null, message: "Careful." } }
    assert.deepStrictEqual(send(protocol, early), [])
    const outputs = send(protocol, { id: 0, result: {} }, { id: 1, result: { thread: { id: "own" } } })
    assert.deepStrictEqual(
      events(outputs).map(({ type }) => type),
      ["run.started", "run.notice"]
    )
  })
})

describe("steps of Codex", () => {
  const plan = (threadId: string) => ({
    method: "turn/plan/updated",
    params: {
      threadId,
      explanation: null,
      plan: [
        { step: "Read", status: "completed" },
        { step: "Write", status: "inProgress" },
        { step: "Test", status: "pending" }
      ]
    }
  })

  it("are the whole list, and name the call of their sub-agent", () => {
    const spawned = {
      type: "collabAgentToolCall",
      id: "spawn",
      tool: "spawnAgent",
      status: "completed",
      receiverThreadIds: ["child"]
    }
    const outputs = send(
      startProtocol(),
      plan("own"),
      item("completed", spawned),
      turnStarted("c", "child"),
      plan("child")
    )
    const lists = events(outputs).flatMap((event) =>
      event.type === "run.steps.updated" ? [event.payload] : []
    )
    const steps = [
      { id: "1", text: "Read", state: "completed" },
      { id: "2", text: "Write", state: "in_progress" },
      { id: "3", text: "Test", state: "pending" }
    ] as const
    assert.deepStrictEqual(lists, [{ steps }, { steps, parentCallId: "spawn" }])
  })
})
