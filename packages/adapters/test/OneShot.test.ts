/** How programs that are given one prompt are started: what a mode allows them, and that a prompt is nothing but a prompt. */
import { RunMode } from "@corral/domain/run/Run"
import type { RunStart, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { copilot } from "../src/Copilot.ts"
import { gemini } from "../src/Gemini.ts"
import { pi } from "../src/Pi.ts"
import { qwen } from "../src/Qwen.ts"

const start: RunStart = { prompt: "Do it.", mode: "full_access", workspacePath: "/workspace" }
const args = (adapter: RuntimeAdapter, more: Partial<RunStart> = {}): string =>
  adapter.command({ ...start, ...more }).args.join(" ")

const oneShots: ReadonlyArray<RuntimeAdapter> = [gemini, copilot, pi]

describe("A one-shot program", () => {
  for (const adapter of oneShots) {
    it(`${adapter.id} takes a prompt for a prompt, regardless of its first characters`, () => {
      for (const prompt of ["--yolo", "-p", "@/etc/passwd", "--allow-all-tools"]) {
        for (const mode of RunMode.literals) {
          const { args: received } = adapter.command({ ...start, prompt, mode })
          const { args: harmless } = adapter.command({ ...start, mode })
          assert.deepStrictEqual(
            received,
            harmless.map((arg) => (arg === start.prompt ? ` ${prompt}` : arg))
          )
        }
      }
      assert.include(adapter.command(start).args, start.prompt)
    })

    it(`${adapter.id} does not ask, and reads nothing from stdin`, () => {
      assert.deepInclude(adapter.capabilities, { approvals: false, input: false, cancel: false })
      assert.strictEqual(adapter.command(start).stdin, "ignore")
      assert.strictEqual(adapter.protocol(start).open, "")
    })
  }

  it("has no tool that asks a user, if it has such a tool", () => {
    for (const mode of RunMode.literals) assert.match(args(copilot, { mode }), /--no-ask-user/)
  })

  it("does not count the plan mode of Gemini CLI as a limit, because the program approves its plan by itself", () =>
    assert.isFalse(gemini.capabilities.readOnly))

  it("is let do everything in full_access alone", () => {
    for (const mode of ["read_only", "plan", "ask", "auto_edit"] as const) {
      assert.notMatch(args(gemini, { mode }), /yolo|skip-trust/)
      assert.notMatch(args(copilot, { mode }), /allow-all/)
      assert.match(args(copilot, { mode }), /--deny-tool=write --deny-tool=shell/)
      assert.match(args(pi, { mode }), /--tools read,grep,find,ls --no-extensions/)
    }
    assert.match(args(gemini, { mode: "read_only" }), /--approval-mode plan/)
    assert.match(args(gemini), /--skip-trust --approval-mode yolo/)
    assert.match(args(copilot), /--allow-all-tools/)
    assert.notMatch(args(copilot), /deny/)
    assert.match(args(copilot, { mode: "plan" }), /--plan/)
    assert.notMatch(args(pi), /--tools/)
  })

  it("is let change something where the Edge confines it, in modes with changes", () => {
    for (const mode of ["ask", "auto_edit"] as const) {
      const confined = { mode, isConfined: true }
      assert.match(args(gemini, confined), /--approval-mode yolo/)
      assert.notMatch(args(gemini, confined), /skip-trust/)
      assert.match(args(copilot, confined), /--allow-all-tools/)
      assert.notMatch(args(pi, confined), /--tools/)
    }
    for (const mode of ["read_only", "plan"] as const) {
      const confined = { mode, isConfined: true }
      assert.match(args(gemini, confined), /--approval-mode plan/)
      assert.notMatch(args(copilot, confined), /allow-all/)
      assert.match(args(pi, confined), /--tools read,grep,find,ls/)
    }
  })

  it("receives the model, and the conversation to continue", () => {
    const more = { model: "small-1", resumeSessionId: "abc-1" }
    assert.match(args(gemini, more), /-m small-1 --resume abc-1/)
    assert.match(args(pi, more), /--model small-1 --session abc-1 -p/)
    assert.match(args(copilot, more), /--model small-1/)
    assert.match(args(qwen, more), /--model small-1 --resume abc-1/)
  })
})

describe("Pi", () => {
  it("fails a turn that reached the output limit", () => {
    const message = {
      role: "assistant",
      stopReason: "length",
      content: [{ type: "text", text: "This is cut" }]
    }
    const outputs = pi
      .protocol(start)
      .step(Buffer.from(`${JSON.stringify({ type: "agent_end", messages: [message] })}\n`))
    const outcome = outputs.find(({ _tag }) => _tag === "Outcome")
    assert(outcome?._tag === "Outcome" && outcome.outcome._tag === "Failed")
    assert.strictEqual(outcome.outcome.error.details?.["reason"], "output_limit")
  })
})

describe("Qwen Code", () => {
  const questions = [
    { question: "Which colour?", header: "Colour", options: [{ label: "Red" }, { label: "Blue" }] },
    { question: "Which sizes?", multiSelect: true, options: [{ label: "S" }, { label: "M" }, { label: "L" }] }
  ]
  const line = (value: object) => Buffer.from(`${JSON.stringify(value)}\n`)
  const permission = (tool: string, input: object) =>
    line({
      type: "control_request",
      request_id: "r1",
      request: { subtype: "can_use_tool", tool_name: tool, tool_use_id: "c1", input }
    })
  const responseOf = (text: string | undefined) => JSON.parse(text ?? "null").response.response

  it("asks a person, and sends the answers by the position of their question", () => {
    const protocol = qwen.protocol(start)
    const outputs = protocol.step(permission("ask_user_question", { questions }))
    assert.deepStrictEqual(
      outputs.map(({ _tag }) => _tag),
      ["InputRequested"]
    )
    const answers = { "0": { other: "Green" }, "1": ["0", "2"] }
    const text = protocol.respond?.("r1", { _tag: "Answered", answers })
    assert.deepStrictEqual(responseOf(text), {
      behavior: "allow",
      updatedInput: { questions, answers: { "0": "Green", "1": "S, L" } }
    })
    assert.isUndefined(protocol.respond?.("r1", { _tag: "Answered", answers }))
  })

  it("refuses a question that no one answered, without an option", () => {
    const protocol = qwen.protocol(start)
    protocol.step(permission("ask_user_question", { questions }))
    const response = responseOf(
      protocol.respond?.("r1", { _tag: "Unanswered", reason: "The question expired." })
    )
    assert.strictEqual(response.behavior, "deny")
    assert.notMatch(JSON.stringify(response), /Red|Blue|"[SML]"/)
  })

  it("withdraws a question whose call has a result", () => {
    const protocol = qwen.protocol(start)
    protocol.step(permission("ask_user_question", { questions }))
    const content = [{ type: "tool_result", tool_use_id: "c1", is_error: false, content: "No answer." }]
    const outputs = protocol.step(line({ type: "user", message: { role: "user", content } }))
    assert.deepInclude(outputs, { _tag: "InputWithdrawn", key: "r1", state: "self_answered" })
  })

  it("waits for decisions as long as the program can", () => {
    assert.match(qwen.protocol(start).open, /"timeout":\{"canUseTool":600000\}/)
  })

  it("refuses a sub-agent whose permissions it could not ask for", () => {
    const input = { description: "Child", prompt: "Write." }
    const outputs = qwen.protocol(start).step(permission("agent", input))
    const [reply] = outputs
    assert(outputs.length === 1 && reply?._tag === "Reply")
    assert.strictEqual(responseOf(reply.text).behavior, "deny")
    const reading = qwen.protocol({ ...start, mode: "read_only" }).step(permission("agent", input))
    assert.strictEqual(reading[0]?._tag, "Approval")
  })

  const request = (input: object): string =>
    `${JSON.stringify({
      type: "control_request",
      request_id: "r1",
      request: { subtype: "can_use_tool", tool_name: "edit", tool_use_id: "c1", input }
    })}\n`

  it("plans where nothing may change, and asks in every other mode", () => {
    for (const mode of RunMode.literals) {
      const wanted = mode === "read_only" || mode === "plan" ? "plan" : "default"
      assert.match(args(qwen, { mode }), new RegExp(`--approval-mode ${wanted}$`))
    }
  })

  it("is asked for exactly what would go and come, and told once what was decided", () => {
    const protocol = qwen.protocol(start)
    const input = { file_path: "/workspace/a.txt", old_string: "one", new_string: "two" }
    const requested = protocol.step(Buffer.from(request(input))).find((output) => output._tag === "Approval")
    assert(requested?._tag === "Approval")
    assert.deepStrictEqual(requested.request, {
      action: "write",
      risk: "low",
      title: "Edit a.txt",
      tool: "edit",
      callId: "c1",
      files: ["a.txt"],
      patch: "--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-one\n+two\n",
      input,
      editable: false,
      scopes: ["once", "run"]
    })
    const answer = protocol.answer("r1", { decision: "allow", scope: "once" })
    assert.deepStrictEqual(JSON.parse(answer ?? ""), {
      type: "control_response",
      response: { subtype: "success", request_id: "r1", response: { behavior: "allow", updatedInput: input } }
    })
    assert.isUndefined(protocol.answer("r1", { decision: "deny", scope: "once" }))
  })

  it("reports the reason of a refusal, and a cancel by its own message", () => {
    const protocol = qwen.protocol(start)
    protocol.step(Buffer.from(request({})))
    const refused = protocol.answer("r1", { decision: "deny", scope: "once", reason: "not that file" })
    assert.include(refused, '"behavior":"deny","message":"not that file"')
    const edited = qwen.protocol(start)
    edited.step(Buffer.from(request({})))
    const answer = { decision: "allow", scope: "once", updatedInput: { command: "other" } } as const
    assert.include(edited.answer("r1", answer), '"behavior":"deny"')
    assert.include(protocol.cancel(), '"subtype":"interrupt"')
    assert.isUndefined(protocol.input("more"))
  })
})
