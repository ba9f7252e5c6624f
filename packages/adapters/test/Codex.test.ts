import type { RunMode } from "@corral/domain/run/Run"
import type { AdapterOutput, ApprovalAnswer, Protocol, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { codex } from "../src/Codex.ts"
import { load, recordedStdin } from "@corral/testing/recordings/Fixtures"

const start: RunStart = { prompt: "Please do the task.", mode: "ask", workspacePath: "/workspace" }
const allow: ApprovalAnswer = { decision: "allow", scope: "once" }

const parsed = (text: string | undefined): ReadonlyArray<unknown> =>
  (text ?? "")
    .split("\n")
    .filter((line) => line !== "")
    .map((line): unknown => JSON.parse(line))

const send = (protocol: Protocol, ...values: ReadonlyArray<object>): ReadonlyArray<AdapterOutput> =>
  values.flatMap((value) => protocol.step(Buffer.from(`${JSON.stringify(value)}\n`)))

const replies = (outputs: ReadonlyArray<AdapterOutput>): ReadonlyArray<unknown> =>
  outputs.flatMap((output) => (output._tag === "Reply" ? parsed(output.text) : []))

const events = (outputs: ReadonlyArray<AdapterOutput>) =>
  outputs.flatMap((output) => (output._tag === "Event" ? [output.event] : []))

const turn = { id: "turn-1", status: "inProgress" }
const result = { thread: { id: "thread-1", cliVersion: "0.169.0" }, model: "m", cwd: "/real/workspace" }

/** A conversation whose first turn has begun. */
const startProtocol = (more: Partial<RunStart> = {}): Protocol => {
  const protocol = codex.protocol({ ...start, ...more })
  send(protocol, { id: 0, result: {} }, { id: 1, result }, { id: 2, result: { turn } })
  return protocol
}

const approvalIn = (outputs: ReadonlyArray<AdapterOutput>) => {
  const [output] = outputs
  assert(output?._tag === "Approval")
  return output
}

/** The first approval of a recording, in the conversation that it stands in. */
const approvalOf = (name: string) => {
  const recording = load("codex", name)
  const protocol = codex.protocol(recording.start)
  const text = Buffer.from(recording.stdout).toString("utf8")
  const end = text.indexOf("\n", text.indexOf("/requestApproval")) + 1
  const outputs = protocol.step(Buffer.from(text.slice(0, end)))
  const approval = outputs.find(({ _tag }) => _tag === "Approval")
  assert(approval?._tag === "Approval")
  return { approval, protocol, rest: Buffer.from(text.slice(end)) }
}

const recordedAnswer = (name: string): unknown => parsed(recordedStdin("codex", name) ?? "").at(-1)

describe("Codex handshake", () => {
  it("initializes, starts a thread in its mode, and says the prompt", () => {
    const protocol = codex.protocol({ ...start, model: "gpt-6" })
    assert.deepInclude(parsed(protocol.open)[0], { method: "initialize", id: 0 })
    const [initialized, opened] = replies(send(protocol, { id: 0, result: {} }))
    assert.deepStrictEqual(initialized, { method: "initialized" })
    assert.deepStrictEqual(opened, {
      method: "thread/start",
      id: 1,
      params: {
        cwd: "/workspace",
        approvalPolicy: "untrusted",
        approvalsReviewer: "user",
        sandbox: "workspace-write",
        model: "gpt-6"
      }
    })
    const outputs = send(protocol, { id: 1, result })
    assert.deepStrictEqual(events(outputs)[0], {
      type: "run.started",
      payload: { runtimeSessionId: "thread-1", runtimeVersion: "0.169.0", model: "m" }
    })
    const [first] = parsed(recordedStdin("codex", "simple-message") ?? "").slice(-1)
    assert.deepStrictEqual(replies(outputs), [
      { ...Object(first), params: { ...Object(first).params, threadId: "thread-1" } }
    ])
  })

  it("never asks where nothing may change, and asks in every other mode", () => {
    const settings = (mode: RunMode) => {
      const [, opened] = replies(send(codex.protocol({ ...start, mode }), { id: 0, result: {} }))
      const { approvalPolicy, sandbox } = Object(opened).params
      return [approvalPolicy, sandbox]
    }
    assert.deepStrictEqual(settings("read_only"), ["never", "read-only"])
    assert.deepStrictEqual(settings("plan"), ["never", "read-only"])
    assert.deepStrictEqual(settings("ask"), ["untrusted", "workspace-write"])
    assert.deepStrictEqual(settings("auto_edit"), ["untrusted", "workspace-write"])
    assert.deepStrictEqual(settings("full_access"), ["untrusted", "danger-full-access"])
  })

  it("turns its sandbox off in a confined run", () => {
    const sandbox = (mode: RunMode) => {
      const protocol = codex.protocol({ ...start, mode, isConfined: true })
      const [, opened] = replies(send(protocol, { id: 0, result: {} }))
      return Object(opened).params.sandbox
    }
    for (const mode of ["read_only", "plan", "ask", "auto_edit"] as const)
      assert.strictEqual(sandbox(mode), "danger-full-access")
  })

  it("continues a conversation, and fails when Codex does not know it", () => {
    const protocol = codex.protocol({ ...start, resumeSessionId: "thread-0" })
    const [, opened] = replies(send(protocol, { id: 0, result: {} }))
    assert.deepInclude(opened, { method: "thread/resume", id: 1 })
    assert.deepInclude(Object(opened).params, { threadId: "thread-0", cwd: "/workspace" })
    const error = { code: -32600, message: "no rollout found for thread id thread-0" }
    const [, outcome] = send(protocol, { id: 1, error })
    assert(outcome?._tag === "Outcome" && outcome.outcome._tag === "Failed")
    assert.strictEqual(outcome.outcome.error.details?.["reason"], "unknown_session")
  })

  it("its requests and Codex's count apart", () => {
    const protocol = codex.protocol(start)
    const params = { threadId: "t", itemId: "i", command: "ls", cwd: "/workspace" }
    send(protocol, { id: 0, method: "item/commandExecution/requestApproval", params })
    assert.lengthOf(replies(send(protocol, { id: 0, result: {} })), 2)
  })
})

describe("Codex approvals", () => {
  for (const [name, decision] of [
    ["approval-allowed", "allow"],
    ["approval-denied", "deny"],
    ["approval-cancel", "cancel"],
    ["approval-write-allowed", "allow"],
    ["approval-write-denied", "deny"]
  ] as const) {
    it(`${name}: answers as it was answered, once, and is not withdrawn after`, () => {
      const { approval, protocol, rest } = approvalOf(name)
      const answer = { decision, scope: "always" } as const
      assert.deepStrictEqual(parsed(protocol.answer(approval.key, answer)), [recordedAnswer(name)])
      assert.isUndefined(protocol.answer(approval.key, answer))
      const outputs = protocol.step(rest)
      assert.isFalse(outputs.some(({ _tag }) => _tag === "ApprovalWithdrawn"))
      assert.strictEqual(outputs.at(-1)?._tag, "Outcome")
    })
  }

  it("the reason of a no follows as words to the turn", () => {
    const { approval, protocol } = approvalOf("approval-denied")
    const [, steer] = parsed(
      protocol.answer(approval.key, { decision: "deny", scope: "once", reason: "Not here." })
    )
    assert.deepInclude(steer, { method: "turn/steer" })
    const { expectedTurnId, input } = Object(steer).params
    assert.match(expectedTurnId, /^01a1fca4-b9f6/)
    assert.strictEqual(input[0].text, "Not here.")
  })

  const method = "item/commandExecution/requestApproval"
  const command = {
    threadId: "thread-1",
    itemId: "call-1",
    command: "/bin/bash -lc 'npm test'",
    cwd: "/workspace/a"
  }
  const scopes = (more: object) =>
    approvalIn(send(startProtocol(), { id: 7, method, params: { ...command, ...more } })).request.scopes

  it("names the command that runs, where, and what may be remembered of it", () => {
    const availableDecisions = ["accept", "acceptForSession", "cancel"]
    const { key, request } = approvalIn(
      send(startProtocol(), { id: "x", method, params: { ...command, availableDecisions } })
    )
    assert.strictEqual(key, '"x"')
    assert.deepStrictEqual(request, {
      action: "shell",
      risk: "medium",
      title: "Run npm test",
      tool: "shell",
      callId: "call-1",
      command: "npm test",
      cwd: "a",
      editable: false,
      scopes: ["once", "run"]
    })
  })

  it("is for once where Codex would not remember it, or where it is more than its words", () => {
    const amendment = { acceptWithExecpolicyAmendment: { execpolicy_amendment: ["npm", "test"] } }
    assert.deepStrictEqual(scopes({ availableDecisions: ["accept", amendment] }), [
      "once",
      "run",
      "session",
      "always"
    ])
    assert.deepStrictEqual(scopes({ availableDecisions: ["accept", "cancel"] }), ["once"])
    assert.deepStrictEqual(scopes({}), ["once"])
    const availableDecisions = ["accept", "acceptForSession", amendment]
    for (const more of [
      { additionalPermissions: { network: { enabled: true } } },
      { environmentId: "remote" },
      { cwd: null },
      { command: null }
    ]) {
      assert.deepStrictEqual(scopes({ availableDecisions, ...more }), ["once"])
    }
  })

  it("names the host that a command wants to reach", () => {
    const networkApprovalContext = { host: "packages.example", protocol: "https" }
    const { request } = approvalIn(
      send(startProtocol(), { id: 1, method, params: { ...command, networkApprovalContext } })
    )
    assert.deepInclude(request, {
      action: "network",
      title: "Reach packages.example",
      url: "https://packages.example",
      input: { command: command.command, host: "packages.example", protocol: "https" }
    })
    assert.isUndefined(request.command)
  })

  it("a patch names both ends of a move, and what is deleted", () => {
    const protocol = startProtocol()
    const changes = [
      {
        path: "/workspace/a.ts",
        kind: { type: "update", move_path: "/real/workspace/b.ts" },
        diff: "@@ -1 +1 @@\n-x\n+y\n\n\nMoved to: /real/workspace/b.ts"
      },
      { path: "/workspace/old.txt", kind: { type: "delete" }, diff: "gone\n" },
      { path: "/etc/hosts", kind: { type: "update", move_path: null }, diff: "@@ -1 +1 @@\n-x\n+y\n" }
    ]
    const item = { type: "fileChange", id: "p1", changes, status: "inProgress" }
    send(protocol, { method: "item/started", params: { threadId: "thread-1", item } })
    const params = { threadId: "thread-1", itemId: "p1" }
    const { request } = approvalIn(
      send(protocol, { id: 3, method: "item/fileChange/requestApproval", params })
    )
    assert.deepInclude(request, {
      title: "Change 3 files",
      files: ["a.ts", "b.ts", "old.txt", "/etc/hosts"],
      patch: [
        "--- a/a.ts\n+++ b/b.ts\n@@ -1 +1 @@\n-x\n+y\n",
        "--- a/old.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-gone\n",
        "--- a//etc/hosts\n+++ b//etc/hosts\n@@ -1 +1 @@\n-x\n+y\n"
      ].join("")
    })
    const done = send(protocol, {
      method: "item/completed",
      params: { threadId: "thread-1", item: { ...item, status: "completed" } }
    })
    assert.deepStrictEqual(
      events(done).flatMap(({ type, payload }) => (type === "run.file.changed" ? [payload] : [])),
      [
        { path: "b.ts", change: "renamed", fromPath: "a.ts", callId: "p1" },
        { path: "old.txt", change: "deleted", callId: "p1" },
        { path: "/etc/hosts", change: "modified", callId: "p1" }
      ]
    )
  })

  it("a patch of nothing known, or of a whole folder, is of high risk and for once", () => {
    for (const params of [{ itemId: "unseen" }, { itemId: "unseen", grantRoot: "/workspace/src" }]) {
      const { request } = approvalIn(
        send(startProtocol(), { id: 3, method: "item/fileChange/requestApproval", params })
      )
      assert.deepStrictEqual([request.risk, request.scopes, request.files], ["high", ["once"], undefined])
    }
  })

  it("rights are given for the turn, as asked or not at all", () => {
    const permissions = { fileSystem: { write: ["/workspace/out"] } }
    const request = {
      id: 4,
      method: "item/permissions/requestApproval",
      params: { itemId: "i", permissions }
    }
    for (const [decision, granted] of [
      ["allow", permissions],
      ["deny", {}]
    ] as const) {
      const protocol = startProtocol()
      const { key } = approvalIn(send(protocol, request))
      assert.deepStrictEqual(parsed(protocol.answer(key, { decision, scope: "once" })), [
        { id: 4, result: { permissions: granted, scope: "turn" } }
      ])
    }
  })

  it("asks for a server's tool, and declines an elicitation of an unknown mode", () => {
    const protocol = startProtocol()
    const params = { threadId: "thread-1", serverName: "tracker", message: 'Allow tracker to run "close"?' }
    const _meta = { codex_approval_kind: "mcp_tool_call", persist: ["session"], tool_params: { id: 7 } }
    const elicit = "mcpServer/elicitation/request"
    const { key, request } = approvalIn(
      send(protocol, { id: 5, method: elicit, params: { ...params, _meta } })
    )
    assert.deepInclude(request, {
      action: "network",
      title: 'Allow tracker to run "close"?',
      input: { message: 'Allow tracker to run "close"?', arguments: { id: 7 } },
      scopes: ["once", "run"]
    })
    assert.deepStrictEqual(parsed(protocol.answer(key, allow)), [
      { id: 5, result: { action: "accept", content: {} } }
    ])
    const unknown = { ...params, mode: "openai/userVerification" }
    const refused = send(protocol, { id: 6, method: elicit, params: unknown })
    const raw = JSON.stringify({ id: 6, method: elicit, params: unknown })
    assert.deepInclude(refused, { _tag: "Unknown", what: elicit, raw })
    assert.deepStrictEqual(replies(refused), [
      { id: 6, result: { action: "decline", content: null, _meta: null } }
    ])
  })
})

describe("Codex turns", () => {
  it("a further message has its own turn, and the run ends after it", () => {
    const recording = load("codex", "multi-turn")
    const protocol = codex.protocol(recording.start)
    assert.strictEqual(protocol.input("Second."), "")
    const outputs = protocol.step(recording.stdout)
    const recorded = parsed(recordedStdin("codex", "multi-turn") ?? "")
    assert.deepInclude(replies(outputs), recorded.at(-1))
    const last = outputs.at(-1)
    assert(last?._tag === "Outcome")
    assert.deepInclude(last.outcome, { _tag: "Completed", text: "Second turn answer, I remember the first." })
    assert.deepInclude(last.outcome.usage, { inputTokens: 200, turns: 2 })
    assert.deepInclude(parsed(protocol.input("Third."))[0], { method: "turn/start" })
  })

  it("ends with its own turn alone", () => {
    const ended = (id: string, status: string) => ({
      method: "turn/completed",
      params: { threadId: "thread-1", turn: { id, status } }
    })
    const protocol = startProtocol()
    assert.deepStrictEqual(send(protocol, ended("turn-0", "completed")), [])
    const [outcome] = send(protocol, ended("turn-1", "interrupted"))
    assert.deepStrictEqual(outcome, {
      _tag: "Outcome",
      outcome: { _tag: "Cancelled", reason: "interrupted" }
    })
  })

  it("interrupts the turn that is under way, and nothing before there is one", () => {
    assert.isUndefined(codex.protocol(start).cancel())
    assert.deepStrictEqual(parsed(startProtocol().cancel()), [
      { method: "turn/interrupt", id: 3, params: { threadId: "thread-1", turnId: "turn-1" } }
    ])
  })

  const totals = (input: number, last: number, turnId: string) => ({
    method: "thread/tokenUsage/updated",
    params: {
      threadId: "thread-1",
      turnId,
      tokenUsage: {
        total: { inputTokens: input, outputTokens: 0 },
        last: { inputTokens: last, outputTokens: 0 }
      }
    }
  })
  const used = (outputs: ReadonlyArray<AdapterOutput>) =>
    outputs.flatMap((output) => (output._tag === "Usage" ? [output.usage.inputTokens] : []))

  it("counts of a resumed conversation what this run used", () => {
    const resumed = startProtocol({ resumeSessionId: "thread-1" })
    const ownTotals = [totals(130, 30, "turn-1"), totals(130, 30, "turn-1"), totals(150, 20, "turn-1")]
    assert.deepStrictEqual(used(send(resumed, totals(100, 60, "turn-0"), ...ownTotals)), [30, 50])
    assert.deepStrictEqual(used(send(startProtocol({ resumeSessionId: "thread-1" }), ...ownTotals)), [30, 50])
    assert.deepStrictEqual(used(send(startProtocol(), ...ownTotals)), [130, 150])
  })

  it("what a sub-agent does belongs to the call that started it, and its end ends nothing", () => {
    const protocol = startProtocol()
    const call = {
      type: "collabAgentToolCall",
      id: "c1",
      tool: "spawnAgent",
      prompt: "Look.",
      status: "completed"
    }
    const spawned = { ...call, receiverThreadIds: ["thread-2"] }
    const message = { type: "agentMessage", id: "m1", text: "Seen." }
    const outputs = send(
      protocol,
      { method: "item/completed", params: { threadId: "thread-1", item: spawned } },
      { method: "item/completed", params: { threadId: "thread-2", item: message } },
      { method: "turn/completed", params: { threadId: "thread-2", turn: { id: "t2", status: "completed" } } }
    )
    assert.deepStrictEqual(events(outputs).at(-1), {
      type: "run.message.completed",
      payload: { messageId: "m1", role: "assistant", channel: "text", text: "Seen.", parentCallId: "c1" }
    })
    assert.isFalse(outputs.some(({ _tag }) => _tag === "Outcome"))
  })

  it("an error that is tried again fails nothing; one that is not tells why the process left", () => {
    const error = { message: "slow down", codexErrorInfo: { httpConnectionFailed: { httpStatusCode: 429 } } }
    const reasonAfter = (willRetry: boolean) => {
      const protocol = startProtocol()
      send(protocol, { method: "error", params: { threadId: "thread-1", error, willRetry } })
      const last = protocol.end({ code: 0, signal: null, stderr: "" }).at(-1)
      assert(last?._tag === "Outcome" && last.outcome._tag === "Failed")
      return last.outcome.error.details?.["reason"]
    }
    assert.deepStrictEqual([reasonAfter(true), reasonAfter(false)], ["no_result", "rate_limited"])
  })

  it("counts what it has no name for", () => {
    const dreamt = { method: "thread/dreamt", params: { of: "x".repeat(2_000) } }
    assert.deepStrictEqual(send(startProtocol(), dreamt), [
      { _tag: "Unknown", what: "thread/dreamt", raw: `${JSON.stringify(dreamt).slice(0, 1_000)}…` }
    ])
    const hologram = { method: "item/completed", params: { item: { type: "hologram", id: "h1" } } }
    assert.deepStrictEqual(send(startProtocol(), hologram), [
      { _tag: "Unknown", what: "item/hologram", raw: JSON.stringify(hologram) }
    ])
  })
})
