import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { ApprovalId, WorkspaceId } from "@corral/domain/identity/Ids"
import { assert, describe, it } from "@effect/vitest"
import { localTime } from "../../src/terminal/ShownTime.ts"
import { Renderer } from "../../src/run/Render.ts"
import { approvalId, frame, runId, tailed } from "./Tailed.ts"

const request: ApprovalRequest = {
  action: "shell",
  risk: "high",
  title: "Run rm -r build",
  command: "rm -r build",
  cwd: ".",
  editable: false,
  scopes: ["once", "run"]
}

const id = ApprovalId.make(approvalId)
const frames = [
  frame(1, "run.created", {
    workspace: WorkspaceId.make("sample"),
    mode: "ask",
    input: { text: "Clean up" }
  }),
  frame(2, "run.started", { model: "m-1" }),
  frame(3, "run.message.delta", { messageId: "r", channel: "reasoning", text: "Let me " }),
  frame(4, "run.message.delta", { messageId: "r", channel: "reasoning", text: "see." }),
  frame(5, "run.message.completed", {
    messageId: "r",
    role: "assistant",
    channel: "reasoning",
    text: "Let me see."
  }),
  frame(6, "run.message.delta", { messageId: "a", channel: "text", text: "I will " }),
  frame(7, "run.message.delta", { messageId: "a", channel: "text", text: "clean." }),
  frame(8, "run.message.completed", {
    messageId: "a",
    role: "assistant",
    channel: "text",
    text: "I will clean."
  }),
  frame(9, "run.tool.call", { callId: "1", tool: "List", label: "List files", status: "started" }),
  frame(10, "run.tool.result", { callId: "1", tool: "List", status: "completed", output: "build" }),
  frame(11, "run.tool.call", { callId: "2", tool: "Bash", label: "rm -r build", status: "started" }),
  frame(12, "run.approval.requested", { approvalId: id, request, expiresAt: "2026-01-01T00:30:00.000Z" }),
  frame(13, "run.approval.resolved", { approvalId: id, state: "approved", scope: "run", by: "local" }),
  frame(14, "run.tool.result", {
    callId: "2",
    tool: "Bash",
    status: "failed",
    exitCode: 1,
    output: "no such folder\n"
  }),
  frame(15, "run.message.delta", { messageId: "b", channel: "text", text: "It was " }),
  frame(16, "run.failed", { error: { code: "runtime_unavailable", message: "The agent crashed." } })
]

const nameOf = (user: string): string => (user === "usr_1" ? "Ada" : user)

const rendered = (
  live: boolean,
  texts: ReadonlyArray<string> = frames,
  colours = live
): ReadonlyArray<string> => {
  const renderer = new Renderer({ live, colours, invocation: "corral", named: "", nameOf })
  return texts.map((text) => renderer.render(tailed(text)))
}

describe("Render", () => {
  it("shows the project settings that a run ignored", () => {
    const projectSettings = { use: "ignored" as const, files: [".mcp.json", ".env"] }
    assert.deepStrictEqual(
      rendered(false, [frame(2, "run.started", { projectSettings })])
        .join("")
        .split("\n"),
      ["started", "project settings ignored: .mcp.json, .env", ""]
    )
  })

  it("says whether the operating system limits the run, and why not", () => {
    const head = { workspace: WorkspaceId.make("sample"), mode: "ask", input: { text: "a" } } as const
    const lines = [
      { kind: "bubblewrap" } as const,
      { kind: "none", reason: "bubblewrap is not installed." } as const
    ].flatMap((confinement) => rendered(false, [frame(1, "run.created", { ...head, confinement })]))
    assert.deepStrictEqual(lines, [
      `${runId} · scripted in sample · ask · confined by bubblewrap\n`,
      `${runId} · scripted in sample · ask · not confined: bubblewrap is not installed.\n`
    ])
  })

  it("says where a run writes, and how to accept what it wrote", () => {
    const head = { workspace: WorkspaceId.make("sample"), mode: "ask", input: { text: "Go" } } as const
    const layer = { owner: runId, means: "overlayfs", enforced: true } as const
    const ready = frame(2, "run.diff.ready", { files: 1, additions: 2, deletions: 0 })
    assert.deepStrictEqual(rendered(false, [frame(1, "run.created", { ...head, layer }), ready]), [
      `${runId} · scripted in sample · ask · in a layer\n`,
      `  1 file changed, +2 −0\n  accept or reject: corral changes ${runId}\n`
    ])
    assert.deepStrictEqual(rendered(false, [frame(1, "run.created", head), ready]), [
      `${runId} · scripted in sample · ask\n`,
      "  1 file changed, +2 −0\n"
    ])
  })

  it("prints whole lines and no escape codes where no terminal is attached", () => {
    assert.deepStrictEqual(rendered(false).join("").split("\n"), [
      `${runId} · scripted in sample · ask`,
      "started (m-1)",
      "reasoning: Let me see.",
      "I will clean.",
      "tool: List files",
      "tool: List files: completed",
      "tool: rm -r build",
      "approval needed: Run rm -r build",
      "  action: shell, risk: high",
      "  command: rm -r build",
      "  folder: .",
      `  ${approvalId}, expires ${localTime("2026-01-01T00:30:00.000Z")}`,
      `  from another terminal: corral approve ${approvalId}   or: corral deny ${approvalId}`,
      `approved for this run by local (${approvalId})`,
      "tool: rm -r build: failed, exit code 1",
      "    no such folder",
      // What had been said when it crashed is not lost.
      "It was ",
      "failed: The agent crashed. (runtime_unavailable)",
      ""
    ])
  })

  it("prints the name of the user who decided", () => {
    const resolved = frame(2, "run.approval.resolved", {
      approvalId: id,
      state: "approved",
      decision: "allow",
      by: "usr_1",
      origin: "console"
    })
    assert.deepStrictEqual(rendered(false, [resolved]), [`approved by Ada in the console (${approvalId})\n`])
  })

  it("says who paused and resumed the run, or why it continues", () => {
    const lines = rendered(false, [
      frame(2, "run.paused", { by: "usr_1" }),
      frame(3, "run.resumed", { by: "usr_1", reason: "lunch is over" }),
      frame(4, "run.resumed", { reason: "the run was cancelled" })
    ])
    assert.deepStrictEqual(lines, [
      "paused by Ada\n",
      "resumed by Ada: lunch is over\n",
      "resumed: the run was cancelled\n"
    ])
  })

  it("streams and rewrites without colours where none are wanted", () => {
    assert.deepStrictEqual(rendered(true, frames, false).slice(2, 10), [
      "reasoning: Let me ",
      "see.",
      "\n",
      "I will ",
      "clean.",
      "\n",
      "› List files",
      "\r\u001b[2K✓ List files\n"
    ])
  })

  it("streams text, dims reasoning and rewrites the line of a tool that ends at once", () => {
    const parts = rendered(true)
    assert.deepStrictEqual(parts.slice(2, 11), [
      "\u001b[2mLet me \u001b[22m",
      "\u001b[2msee.\u001b[22m",
      "\n",
      "I will ",
      "clean.",
      "\n",
      "\u001b[36m›\u001b[39m List files",
      "\r\u001b[2K\u001b[32m✓\u001b[39m List files\n",
      "\u001b[36m›\u001b[39m rm -r build"
    ])
    // The approval stands between this call and its result: the line above it is left as it is.
    assert.strictEqual(
      parts[13],
      "\u001b[31m✗\u001b[39m rm -r build, exit code 1\u001b[2m\n    no such folder\u001b[22m\n"
    )
    assert.strictEqual(
      parts[15],
      "\n\u001b[31mfailed\u001b[39m: The agent crashed. \u001b[2m(runtime_unavailable)\u001b[22m\n"
    )
  })

  it("shows an approval as an approval, regardless of its content", () => {
    const hostile = {
      ...request,
      title: "ls\u001b[1A\u001b[2K",
      command: "rm -rf /\r\u001b[2Kls",
      patch: "+a\n-b\u202e"
    }
    const event = frame(1, "run.approval.requested", { approvalId: id, request: hostile, expiresAt: "x" })
    const [text = ""] = rendered(false, [event])
    assert.include(text, "approval needed: ls␛[1A␛[2K\n")
    assert.include(text, "  command: rm -rf /␍␛[2Kls\n")
    assert.include(text, "  patch:\n    +a\n    -b<U+202E>\n")
  })

  it("shows the runtime's own input where the request says nothing else", () => {
    const { command: _, ...silent } = request
    const event = frame(1, "run.approval.requested", {
      approvalId: id,
      request: { ...silent, input: { to: "prod" } },
      expiresAt: "x"
    })
    assert.include(rendered(false, [event]).join(""), '  input:\n    {\n      "to": "prod"\n    }\n')
  })

  it("says why a model call is tried again, and for how long nothing was heard", () => {
    const retries = [
      frame(2, "runtime.retrying", { reason: "rate_limited", attempt: 2, maxAttempts: 5, delayMs: 3_500 }),
      frame(3, "runtime.retrying", { reason: "server_error", message: "500 \u001b[2Jinternal" }),
      frame(4, "runtime.retrying", { reason: "silence", silentMs: 30_000 })
    ]
    const [limited, failed, silent] = rendered(false, retries)
    assert.strictEqual(limited, "model call failed (rate_limited), retrying in 4 s (attempt 2 of 5)\n")
    assert.match(failed ?? "", /^model call failed \(server_error\), retrying: 500 /)
    assert.notInclude(failed, "\u001b")
    assert.strictEqual(silent, "no output for 30 s\n")
  })

  it("is silent about events that it does not know", () => {
    const unknown = frame(1, "run.started", {}).replace("run.started", "run.sang")
    assert.deepStrictEqual(rendered(false, [unknown]), [""])
  })
})
