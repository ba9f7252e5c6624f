/** OpenCode as a server: how it is started, and what goes back to it. */
import type { RunStart } from "@corral/domain/run/RuntimeAdapter"
import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { makeOpenCode } from "../src/OpenCode.ts"

const openCode = makeOpenCode({ node: "/node", bridge: "/bridge/opencode-bridge.mjs" })
const start: RunStart = { prompt: "Do it.", mode: "ask", workspacePath: "/workspace" }

const lines = (...values: ReadonlyArray<object>) =>
  Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(""))
const event = (type: string, properties: object) => ({ id: "evt", type, properties })
const session = {
  type: "bridge.response",
  properties: { id: "session", status: 200, body: { id: "ses_1", version: "1" } }
}
const child = event("session.created", { info: { id: "ses_2", parentID: "ses_1", title: "Child" } })
const part = (sessionID: string, fields: object) =>
  event("message.part.updated", { sessionID, part: { sessionID, messageID: "msg_1", ...fields } })
const task = part("ses_1", {
  id: "prt_task",
  type: "tool",
  tool: "task",
  callID: "c1",
  state: { status: "running", input: { description: "Child" }, metadata: { sessionId: "ses_2" } }
})
const options = [{ label: "Red", description: "A warm colour" }, { label: "Blue" }]
const question = event("question.asked", {
  id: "que_1",
  sessionID: "ses_2",
  questions: [
    { question: "Which colour?", header: "Colour", options },
    { question: "Which parts?", options, multiple: true, custom: false }
  ]
})

const busy = event("session.status", { sessionID: "ses_1", status: { type: "busy" } })

const opened = (more: Partial<RunStart> = {}) => {
  const protocol = openCode.protocol({ ...start, ...more })
  protocol.step(lines(session, busy, child, task))
  return protocol
}
const bodyOf = (text: string | undefined) => JSON.parse(text ?? "null")

describe("OpenCode", () => {
  it("is started by the bridge, with permissions for everything but reading", () => {
    const { bridge, env, file, stdin } = openCode.command(start)
    assert.deepStrictEqual(
      [bridge, file, stdin],
      [["/node", "/bridge/opencode-bridge.mjs"], "opencode", "pipe"]
    )
    const asks = JSON.parse(env?.["OPENCODE_PERMISSION"] ?? "{}")
    assert.deepInclude(asks, { "*": "ask", read: "allow", question: "allow", todowrite: "allow" })
    for (const mode of ["read_only", "plan"] as const) {
      const denies = JSON.parse(openCode.command({ ...start, mode }).env?.["OPENCODE_PERMISSION"] ?? "{}")
      assert.deepInclude(denies, { "*": "deny", read: "allow" })
      assert.notProperty(denies, "bash")
    }
    const attached = openCode.command({ ...start, attachmentFolder: "/files" }).env?.["OPENCODE_PERMISSION"]
    assert.deepStrictEqual(JSON.parse(attached ?? "{}").external_directory, {
      "*": "ask",
      "/files/*": "allow"
    })
  })

  it("receives the prompt with its images, the model and the conversation to continue", () => {
    const images = [{ path: "/images/dot.png", mediaType: "image/png", base64: "aW1hZ2U=" }]
    const protocol = openCode.protocol({ ...start, images, model: "a/b/c", resumeSessionId: "ses_1" })
    assert.deepInclude(bodyOf(protocol.open), { method: "GET", path: "/session/ses_1" })
    const reply = protocol.step(lines(session)).find(({ _tag }) => _tag === "Reply")
    assert(reply?._tag === "Reply")
    const { body, path } = bodyOf(reply.text)
    assert.strictEqual(path, "/session/ses_1/prompt_async")
    assert.deepStrictEqual(body, {
      agent: "build",
      model: { providerID: "a", modelID: "b/c" },
      parts: [
        { type: "text", text: "Do it." },
        { type: "file", mime: "image/png", filename: "dot.png", url: "data:image/png;base64,aW1hZ2U=" }
      ]
    })
  })

  it("fails to continue an unknown conversation", () => {
    const protocol = openCode.protocol({ ...start, resumeSessionId: "ses_1" })
    const missing = { type: "bridge.response", properties: { id: "session", status: 404, body: {} } }
    const outcome = protocol.step(lines(missing)).find(({ _tag }) => _tag === "Outcome")
    assert(outcome?._tag === "Outcome" && outcome.outcome._tag === "Failed")
    assert.strictEqual(outcome.outcome.error.details?.["reason"], "unknown_session")
  })

  it("asks a person what a sub-agent asks, and sends exactly what was chosen", () => {
    const protocol = opened()
    const requested = protocol.step(lines(question)).find(({ _tag }) => _tag === "InputRequested")
    assert(requested?._tag === "InputRequested")
    assert.strictEqual(requested.request.parentCallId, "prt_task")
    assert.deepStrictEqual(
      requested.request.questions?.map(({ allowsOther, multiple }) => [allowsOther, multiple]),
      [
        [true, undefined],
        [undefined, true]
      ]
    )
    const answers = { "0": { other: "Green" }, "1": ["0", "1"] }
    const sent = bodyOf(protocol.respond?.("que_1", { _tag: "Answered", answers }))
    assert.deepInclude(sent, {
      path: "/question/que_1/reply",
      body: { answers: [["Green"], ["Red", "Blue"]] }
    })
    assert.isUndefined(protocol.respond?.("que_1", { _tag: "Answered", answers }))
  })

  it("sends no option for a question that no one answered", () => {
    for (const response of [
      { _tag: "Unanswered", reason: "The question expired." },
      { _tag: "Answered", answers: {} },
      { _tag: "PlanApproved", endsRun: false }
    ] as const) {
      const protocol = opened()
      protocol.step(lines(question))
      const sent = bodyOf(protocol.respond?.("que_1", response))
      assert.notMatch(JSON.stringify(sent), /Red|Blue/)
      assert.strictEqual(sent.body.answers.length, 2)
    }
  })

  it("asks for a permission of a sub-agent with all files of the patch, and never remembers it", () => {
    const protocol = opened()
    const files = [
      {
        filePath: "/workspace/a.ts",
        type: "move",
        movePath: "/etc/b.ts",
        patch: "--- /workspace/a.ts\n+++ /workspace/a.ts\n"
      }
    ]
    const outputs = protocol.step(
      lines(
        event("permission.asked", {
          id: "per_1",
          sessionID: "ses_2",
          permission: "edit",
          metadata: { files }
        })
      )
    )
    const approval = outputs.find(({ _tag }) => _tag === "Approval")
    assert(approval?._tag === "Approval")
    assert.deepStrictEqual(approval.request.files, ["a.ts", "/etc/b.ts"])
    assert.strictEqual(approval.request.parentCallId, "prt_task")
    const sent = bodyOf(protocol.answer("per_1", { decision: "allow", scope: "always" }))
    assert.deepInclude(sent, { path: "/permission/per_1/reply", body: { reply: "once" } })
    assert.isUndefined(protocol.answer("per_1", { decision: "allow", scope: "once" }))
  })

  it("sends a further message when the turn has ended, and aborts the conversation", () => {
    const protocol = opened()
    assert.strictEqual(protocol.input("Next."), "")
    const idle = event("session.idle", { sessionID: "ses_1" })
    const outputs = protocol.step(lines(idle, idle))
    const reply = outputs.find(({ _tag }) => _tag === "Reply")
    assert(reply?._tag === "Reply")
    assert.match(reply.text, /"text":"Next\."/)
    assert.isFalse(outputs.some(({ _tag }) => _tag === "Outcome"))
    protocol.step(lines(busy))
    assert.deepInclude(bodyOf(protocol.cancel()), { path: "/session/ses_1/abort" })
    const outcome = protocol.step(lines(idle)).find(({ _tag }) => _tag === "Outcome")
    assert(outcome?._tag === "Outcome")
    assert.strictEqual(outcome.outcome._tag, "Cancelled")
  })

  it("fails a turn that reached the output limit", () => {
    const finish = part("ses_1", { id: "prt_2", type: "step-finish", reason: "length", tokens: {} })
    const outputs = opened().step(lines(finish, event("session.idle", { sessionID: "ses_1" })))
    const outcome = outputs.find(({ _tag }) => _tag === "Outcome")
    assert(outcome?._tag === "Outcome" && outcome.outcome._tag === "Failed")
    assert.strictEqual(outcome.outcome.error.details?.["reason"], "output_limit")
  })
})
