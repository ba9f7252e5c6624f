import type { RunMode } from "@corral/domain/run/Run"
import type { AdapterOutput, Protocol, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { claudeCode } from "../src/ClaudeCode.ts"
import { load, recordedStdin } from "@corral/testing/recordings/Fixtures"

const start: RunStart = { prompt: "Please do the task.", mode: "ask", workspacePath: "/workspace" }
const send = (protocol: Protocol, value: object): ReadonlyArray<AdapterOutput> =>
  protocol.step(Buffer.from(`${JSON.stringify(value)}\n`))
const parsed = (line: string | undefined): unknown => JSON.parse(line ?? "null")

const approvalOf = (name: string) => {
  const recording = load("claude-code", name)
  const protocol = claudeCode.protocol(recording.start)
  const outputs = protocol.step(recording.stdout)
  const approval = outputs.find((output) => output._tag === "Approval")
  assert(approval?._tag === "Approval")
  return { protocol, approval }
}

describe("ClaudeCode command", () => {
  const argsOf = (mode: RunMode, more: Partial<RunStart> = {}) =>
    claudeCode.command({ ...start, mode, ...more }).args

  it("asks over stdio and streams both ways", () => {
    assert.deepStrictEqual(argsOf("ask"), [
      "-p",
      "--input-format",
      "stream-json",
      "--output-format",
      "stream-json",
      "--verbose",
      "--include-partial-messages",
      "--permission-prompt-tool",
      "stdio",
      "--permission-mode",
      "default",
      "--setting-sources",
      "user",
      "--add-dir",
      start.workspacePath
    ])
    assert.strictEqual(claudeCode.command(start).stdin, "pipe")
  })

  it("never bypasses permissions, and leaves reading alone in read_only", () => {
    const modes = { plan: "plan", auto_edit: "default", full_access: "default" } as const
    for (const mode of ["plan", "auto_edit", "full_access"] as const) {
      const args = argsOf(mode)
      assert.strictEqual(args[args.indexOf("--permission-mode") + 1], modes[mode])
    }
    assert.deepStrictEqual(argsOf("read_only", { model: "opus", resumeSessionId: "abc" }).slice(-12), [
      "--permission-mode",
      "plan",
      "--model",
      "opus",
      "--resume",
      "abc",
      "--setting-sources",
      "user",
      "--add-dir",
      start.workspacePath,
      "--tools",
      "Read,Grep,Glob,AskUserQuestion,ExitPlanMode"
    ])
  })
})

describe("ClaudeCode approvals", () => {
  it("allow gives back the input that was asked for", () => {
    const { protocol, approval } = approvalOf("approval-allowed")
    const recorded = (recordedStdin("claude-code", "approval-allowed") ?? "").trim().split("\n")
    assert.deepStrictEqual(
      parsed(protocol.answer(approval.key, { decision: "allow", scope: "once" })),
      parsed(recorded.at(-1))
    )
    assert.isUndefined(
      protocol.answer(approval.key, { decision: "allow", scope: "once" }),
      "it is answered once"
    )
  })

  it("allow with an edited input gives that one", () => {
    const { protocol, approval } = approvalOf("approval-allowed")
    const updatedInput = { command: "touch other.txt" }
    assert.deepInclude(
      parsed(protocol.answer(approval.key, { decision: "allow", scope: "always", updatedInput })),
      {
        response: {
          subtype: "success",
          request_id: approval.key,
          response: { behavior: "allow", updatedInput }
        }
      }
    )
  })

  it("deny sends the agent back with the reason, cancel stops it", () => {
    for (const [decision, interrupt] of [
      ["deny", false],
      ["cancel", true]
    ] as const) {
      const { protocol, approval } = approvalOf("approval-write-denied")
      const answer = { decision, scope: "once", reason: "Not this file." } as const
      assert.deepInclude(parsed(protocol.answer(approval.key, answer)), {
        response: {
          subtype: "success",
          request_id: approval.key,
          response: { behavior: "deny", message: "Not this file.", interrupt }
        }
      })
    }
  })

  it("is withdrawn by the runtime, once", () => {
    const protocol = claudeCode.protocol(start)
    const request = { subtype: "can_use_tool", tool_name: "mcp__tracker__close_issue", input: { id: 7 } }
    const [requested] = send(protocol, { type: "control_request", request_id: "r1", request })
    assert.deepStrictEqual(requested?._tag === "Approval" ? requested.request : undefined, {
      action: "network",
      risk: "medium",
      title: "Use close_issue of tracker",
      tool: "mcp__tracker__close_issue",
      input: { id: 7 },
      editable: true,
      scopes: ["once", "run"]
    })
    const cancel = { type: "control_cancel_request", request_id: "r1" }
    assert.deepStrictEqual(send(protocol, cancel), [
      { _tag: "ApprovalWithdrawn", key: "r1", reason: "the runtime no longer waits for it" }
    ])
    const unknown = { _tag: "Unknown", what: "control_cancel_request" } as const
    assert.deepStrictEqual(send(protocol, cancel), [{ ...unknown, raw: JSON.stringify(cancel) }])
    assert.deepStrictEqual(send(protocol, cancel), [unknown])
    assert.isUndefined(protocol.answer("r1", { decision: "allow", scope: "once" }))
  })

  it("says no to a request of another kind, which would wait for ever", () => {
    const request = { type: "control_request", request_id: "r2", request: { subtype: "request_user_dialog" } }
    const outputs = send(claudeCode.protocol(start), request)
    assert.deepStrictEqual(
      outputs.map((output) => (output._tag === "Reply" ? parsed(output.text) : output)),
      [
        { _tag: "Unknown", what: "control_request/request_user_dialog", raw: JSON.stringify(request) },
        {
          type: "control_response",
          response: { subtype: "error", request_id: "r2", error: "request_user_dialog is not supported" }
        }
      ]
    )
  })
})

describe("ClaudeCode conversation", () => {
  it("begins with a handshake and the prompt", () => {
    const lines = claudeCode.protocol(start).open.trim().split("\n").map(parsed)
    assert.deepStrictEqual(lines, [
      { type: "control_request", request_id: "initialize", request: { subtype: "initialize", hooks: null } },
      {
        type: "user",
        message: { role: "user", content: "Please do the task." },
        parent_tool_use_id: null,
        session_id: ""
      }
    ])
  })

  it("a further message begins the next turn, and the outcome waits for its answer", () => {
    const recording = load("claude-code", "multi-turn-one-process")
    const protocol = claudeCode.protocol(recording.start)
    assert.strictEqual(protocol.input("Second."), "")
    const outputs = [...protocol.step(recording.stdout), ...protocol.end(recording.exit)]
    const replies = outputs.flatMap((output) => (output._tag === "Reply" ? [parsed(output.text)] : []))
    assert.deepStrictEqual(replies, [
      {
        type: "user",
        message: { role: "user", content: "Second." },
        parent_tool_use_id: null,
        session_id: ""
      }
    ])
    assert.deepStrictEqual(outputs.at(-1), {
      _tag: "Outcome",
      outcome: {
        _tag: "Completed",
        text: "Second turn answer, I remember the first.",
        usage: {
          inputTokens: 200,
          outputTokens: 84,
          cachedInputTokens: 0,
          reasoningTokens: 0,
          turns: 2,
          costUsd: 0.0018599999999999999
        }
      }
    })
    assert.isUndefined(protocol.input("Third."), "after the outcome it takes none")
  })

  it("an error after a cancel is a cancel, also where the version gives no reason", () => {
    const protocol = claudeCode.protocol(start)
    assert.deepStrictEqual(parsed(protocol.cancel()), {
      type: "control_request",
      request_id: "interrupt",
      request: { subtype: "interrupt" }
    })
    const outcome = send(protocol, { type: "result", is_error: true, subtype: "error_during_execution" }).at(
      -1
    )
    assert.deepInclude(outcome?._tag === "Outcome" ? outcome.outcome : undefined, {
      _tag: "Cancelled",
      reason: "interrupted"
    })
  })

  it("a truncated last line is reported, and the run is not a success", () => {
    const recording = load("claude-code", "simple-message")
    const protocol = claudeCode.protocol(start)
    const outputs = [
      ...protocol.step(recording.stdout.subarray(0, -30)),
      ...protocol.end({ code: 0, signal: null, stderr: "" })
    ]
    const received = outputs
      .slice(-3)
      .map((output) => (output._tag === "Event" ? output.event.type : output._tag))
    assert.deepStrictEqual(received, ["schema.validation_failed", "runtime.unavailable", "Outcome"])
    const last = outputs.at(-1)
    assert(last?._tag === "Outcome" && last.outcome._tag === "Failed")
    assert.deepInclude(last.outcome.error, {
      code: "runtime_unavailable",
      details: { reason: "truncated", exitCode: 0 }
    })
  })

  it("takes no conversation id that could be read as an option", () => {
    const init = { type: "system", subtype: "init", session_id: "--dangerously-skip-permissions" }
    assert.deepStrictEqual(send(claudeCode.protocol(start), init), [
      { _tag: "Event", event: { type: "run.started", payload: {} } }
    ])
  })

  it("tells a sub-agent's words by the call that started it", () => {
    const protocol = claudeCode.protocol(start)
    const stream = (event: object, parent: string | null) =>
      send(protocol, { type: "stream_event", event, parent_tool_use_id: parent })
    const delta = (text: string) => ({
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text }
    })
    stream({ type: "message_start", message: { id: "outer" } }, null)
    stream({ type: "message_start", message: { id: "inner" } }, "call-1")
    const outputs = [...stream(delta("a"), null), ...stream(delta("b"), "call-1")]
    assert.deepStrictEqual(
      outputs.map((output) => (output._tag === "Event" ? output.event.payload : output)),
      [
        { messageId: "outer:0", channel: "text", text: "a" },
        { messageId: "inner:0", channel: "text", text: "b", parentCallId: "call-1" }
      ]
    )
  })
})
