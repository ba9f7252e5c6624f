import type { InputResponse } from "@corral/domain/run/RuntimeAdapter"
import { invariantFindings } from "@corral/conformance/Invariants"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { acpAgents } from "../src/acp/AcpAgents.ts"
import { modes, options, permissionRequest, plain, Talk } from "./AcpTalk.ts"

const colours = {
  type: "string",
  title: "Colour",
  oneOf: [
    { const: "red", title: "Red", description: "Warm" },
    { const: "blue", title: "Blue" }
  ]
}
const form = (properties: object, more: object = {}, message = "Please answer."): object => ({
  id: 5,
  method: "elicitation/create",
  params: { mode: "form", sessionId: "s", message, requestedSchema: { type: "object", properties, ...more } }
})
const unanswered: InputResponse = { _tag: "Unanswered", reason: "The user did not answer." }
const answered = (answers: object): InputResponse => ({ _tag: "Answered", answers: { ...answers } })
const requested = (talk: Talk) => talk.tagged("InputRequested").at(-1)?.request
const respond = (talk: Talk, response: InputResponse, key = "5") => {
  talk.write(talk.protocol.respond?.(key, response))
  return talk.last?.result
}

describe("Acp form", () => {
  const opened = (...form: ReadonlyArray<object>): Talk => {
    const talk = new Talk(plain).open()
    talk.send(...form)
    return talk
  }

  it("asks one question with the text of its message", () => {
    const talk = opened(form({ colour: colours }, { required: ["colour"] }, "Which colour?"))
    assert.deepStrictEqual(requested(talk), {
      kind: "question",
      title: "Which colour?",
      questions: [
        {
          id: "colour",
          text: "Which colour?",
          header: "Colour",
          kind: "choice",
          options: [
            { id: "red", label: "Red", description: "Warm" },
            { id: "blue", label: "Blue" }
          ]
        }
      ]
    })
    assert.deepStrictEqual(respond(talk, answered({ colour: "blue" })), {
      action: "accept",
      content: { colour: "blue" }
    })
  })

  it("maps every kind of field, and returns only what was answered", () => {
    const talk = opened(
      form({
        sizes: {
          type: "array",
          title: "Sizes",
          items: { type: "string", enum: ["s", "l"], enumNames: ["Small"] }
        },
        age: { type: "integer", minimum: 1, maximum: 9 },
        ratio: { type: "number" },
        sure: { type: "boolean", title: "Sure?", default: true },
        mail: { type: "string", format: "email", minLength: 3, maxLength: 20 },
        token: { type: "string", format: "password" }
      })
    )
    const kinds = requested(talk)?.questions?.map((question) => ({ ...question, text: "" }))
    const optional = { text: "", required: false }
    assert.deepStrictEqual(kinds, [
      {
        id: "sizes",
        kind: "choice",
        options: [
          { id: "s", label: "Small" },
          { id: "l", label: "l" }
        ],
        multiple: true,
        ...optional
      },
      { id: "age", kind: "number", integer: true, min: 1, max: 9, ...optional },
      { id: "ratio", kind: "number", ...optional },
      { id: "sure", kind: "boolean", ...optional },
      { id: "mail", kind: "text", min: 3, max: 20, format: "email", ...optional },
      { id: "token", kind: "text", format: "password", secret: true, ...optional }
    ])
    assert.strictEqual(requested(talk)?.questions?.[3]?.text, "Sure? (default: true)")
    assert.deepStrictEqual(respond(talk, answered({ sizes: ["l"], age: 3, sure: false })), {
      action: "accept",
      content: { sizes: ["l"], age: 3, sure: false }
    })
  })

  it("asks numbered questions in their order, with the lines of the message as their texts", () => {
    const talk = opened(
      form({ q1: { ...colours, title: "B" }, q0: { ...colours, title: "A" } }, {}, "First?\nSecond?")
    )
    assert.deepStrictEqual(
      requested(talk)?.questions?.map(({ header, id, text }) => [id, header, text]),
      [
        ["q0", "A", "First?"],
        ["q1", "B", "Second?"]
      ]
    )
  })

  it("puts a text of the person into the field next to the choice", () => {
    const properties = { colour: colours, colour_custom: { type: "string", title: "Other" } }
    const single = opened(form(properties))
    assert.deepInclude(requested(single)?.questions?.[0], { id: "colour", allowsOther: true })
    assert.lengthOf(requested(single)?.questions ?? [], 1)
    assert.deepStrictEqual(respond(single, answered({ colour: { other: "green" } })), {
      action: "accept",
      content: { colour_custom: "green" }
    })
    const several = opened(
      form({ ...properties, colour: { type: "array", items: { anyOf: colours.oneOf } } })
    )
    assert.deepStrictEqual(respond(several, answered({ colour: ["red", { other: "green" }] })), {
      action: "accept",
      content: { colour: ["red"], colour_custom: "green" }
    })
  })

  it("declines what no person answered, and what cannot be shown", () => {
    assert.deepStrictEqual(respond(opened(form({ colour: colours })), unanswered), { action: "decline" })
    const talk = opened(form({ shape: { type: "object" } }))
    assert.deepStrictEqual(talk.last, { jsonrpc: "2.0", id: 5, result: { action: "decline" } } as object)
    assert.strictEqual(talk.payloads("run.notice").at(-1)?.kind, "warning")
    assert.isUndefined(requested(talk))
  })

  it("shows a link without opening it", () => {
    const link = (elicitationId: string) => ({
      id: 5,
      method: "elicitation/create",
      params: {
        mode: "url",
        sessionId: "s",
        message: "Sign in",
        url: "https://example.test/a",
        elicitationId
      }
    })
    const talk = opened(link("e1"))
    assert.deepStrictEqual(requested(talk), { kind: "link", title: "Sign in", url: "https://example.test/a" })
    assert.deepStrictEqual(respond(talk, answered({})), { action: "accept" })
    const left = opened(link("e2"))
    left.send({ method: "elicitation/complete", params: { elicitationId: "e2" } })
    assert.deepStrictEqual(left.tagged("InputWithdrawn"), [
      { _tag: "InputWithdrawn", key: "5", state: "self_answered" }
    ])
    assert.deepStrictEqual(left.last?.result, { action: "decline" })
    assert.isUndefined(left.protocol.respond?.("5", answered({})))
  })

  it("is withdrawn when the agent cancels its request", () => {
    const talk = opened(form({ colour: colours }))
    talk.send({ method: "$/cancel_request", params: { requestId: 5 } })
    assert.strictEqual(talk.tagged("InputWithdrawn")[0]?.state, "withdrawn")
    assert.deepStrictEqual(talk.last?.result, { action: "decline" })
  })

  it("returns each answer once, and no answer that no person gave", () => {
    const answers = fc.record({ colour: fc.constantFrom("red", "blue", { other: "green" }) })
    const response = fc.oneof(
      answers.map((values): InputResponse => ({ _tag: "Answered", answers: values })),
      fc.string().map((reason): InputResponse => ({ _tag: "Unanswered", reason }))
    )
    fc.assert(
      fc.property(fc.array(response, { minLength: 1, maxLength: 4 }), (responses) => {
        const talk = opened(form({ colour: colours, colour_custom: { type: "string" } }))
        const written = responses.map((one) => talk.protocol.respond?.("5", one))
        assert.isTrue(written.slice(1).every((line) => line === undefined))
        const [first] = responses
        const chosen = first?._tag === "Answered" ? "accept" : "decline"
        assert.include(written[0], `"action":"${chosen}"`)
        if (chosen === "decline") assert.notMatch(written[0] ?? "", /red|blue|green|content/)
        return true
      })
    )
  })
})

describe("Acp permission request with several answers", () => {
  const choices = [
    { optionId: "q0", kind: "allow_once", name: "Red" },
    { optionId: "q1", kind: "allow_once", name: "Blue" },
    { optionId: "skip", kind: "reject_once", name: "Skip" }
  ]
  const question = { toolCallId: "c", title: "Ask", kind: "other", rawInput: { question: "Which colour?" } }
  const opened = (toolCall: object = question, mode: "full_access" | "plan" = "full_access"): Talk => {
    const talk = new Talk(plain, { mode }).open()
    talk.send(permissionRequest(toolCall, { options: choices }))
    return talk
  }

  it("is a question with the agent's options, in every mode", () => {
    for (const mode of ["full_access", "plan"] as const) {
      const talk = opened(question, mode)
      assert.deepStrictEqual(requested(talk)?.questions, [
        {
          id: "choice",
          text: "Which colour?",
          kind: "choice",
          options: [
            { id: "q0", label: "Red" },
            { id: "q1", label: "Blue" }
          ]
        }
      ])
      assert.isEmpty(talk.requests)
      assert.deepStrictEqual(respond(talk, answered({ choice: "q1" }), "7"), {
        outcome: { outcome: "selected", optionId: "q1" }
      })
    }
  })

  it("selects no answer that no person gave", () => {
    const rejected = { outcome: { outcome: "selected", optionId: "skip" } }
    assert.deepStrictEqual(respond(opened(), unanswered, "7"), rejected)
    assert.deepStrictEqual(respond(opened(), answered({ choice: "q9" }), "7"), rejected)
    assert.deepStrictEqual(respond(opened(), { _tag: "PlanApproved", endsRun: false }, "7"), rejected)
  })

  it("stays an approval for an action of a run that only reads", () => {
    const talk = opened({ ...question, kind: "execute", rawInput: { command: "touch a" } }, "plan")
    assert.isUndefined(requested(talk))
    assert.lengthOf(talk.requests, 1)
  })

  it("stays an approval with several options that remember", () => {
    const talk = new Talk(plain).open()
    const always = { optionId: "project", kind: "allow_always", name: "Project" }
    talk.send(permissionRequest(question, { options: [always, ...options] }))
    assert.lengthOf(talk.requests, 1)
    talk.write(talk.protocol.answer("7", { decision: "allow", scope: "always" }))
    assert.deepStrictEqual(talk.last?.result, { outcome: { outcome: "selected", optionId: "once" } })
  })

  it("sends questions of Qwen back with their answers", () => {
    const qwenQuestions = [
      {
        question: "Which colour?",
        header: "Colour",
        multiSelect: false,
        options: [{ label: "Red" }, { label: "Blue" }]
      },
      {
        question: "Which sizes?",
        header: "Sizes",
        multiSelect: true,
        options: [{ label: "S" }, { label: "L" }]
      }
    ]
    const toolCall = {
      toolCallId: "c",
      title: "Ask user 2 questions",
      kind: "think",
      _meta: { toolName: "ask_user_question", qwenInteractionKind: "user_question", qwenQuestions }
    }
    const open = () => {
      const talk = new Talk(acpAgents.qwen).open(modes("default", "default", "plan"))
      talk.send(permissionRequest(toolCall))
      return talk
    }
    const talk = open()
    assert.deepStrictEqual(
      requested(talk)?.questions?.map(({ id, multiple, text }) => [id, text, multiple]),
      [
        ["0", "Which colour?", undefined],
        ["1", "Which sizes?", true]
      ]
    )
    assert.deepStrictEqual(respond(talk, answered({ 0: { other: "Green" }, 1: ["S", "L"] }), "7"), {
      outcome: { outcome: "selected", optionId: "once" },
      answers: { 0: "Green", 1: "S, L" }
    })
    assert.deepStrictEqual(respond(open(), unanswered, "7"), {
      outcome: { outcome: "selected", optionId: "no" }
    })
  })
})

describe("Acp plan", () => {
  const exits = [
    { optionId: "restore_previous", kind: "allow_once", name: "Restore" },
    { optionId: "proceed_always", kind: "allow_always", name: "Accept edits" },
    { optionId: "proceed_once", kind: "allow_once", name: "Manually" },
    { optionId: "cancel", kind: "reject_once", name: "Keep planning" }
  ]
  const handOver = {
    toolCallId: "c",
    title: "Plan:",
    kind: "switch_mode",
    rawInput: { plan: "# Plan\n\n1. First" }
  }
  const opened = (mode: "ask" | "plan", agent: "qwen" | "claudeAgent" = "qwen"): Talk => {
    const talk = new Talk(acpAgents[agent], { mode }).open(modes("plan", "default", "plan"))
    talk.update("tool_call", { ...handOver, name: "ExitPlanMode", rawInput: {} })
    talk.update("tool_call_update", handOver)
    talk.send(permissionRequest({ ...handOver, rawInput: {} }, { options: exits }))
    return talk
  }
  // A changed mode is set before the prompt.
  const key = "7"

  it("has the text of the call, although the request lacks it", () => {
    for (const agent of ["qwen", "claudeAgent"] as const) {
      const talk = opened("plan", agent)
      assert.deepStrictEqual(requested(talk), {
        kind: "plan",
        title: "Plan",
        plan: "# Plan\n\n1. First",
        callId: "c"
      })
      assert.isEmpty(talk.requests)
    }
  })

  it.each([
    ["completed", "# Plan\n\n1. First"],
    ["failed", "Requesting plan approval for: /home/user/.gemini/tmp/ws/id/plans/plan.md"]
  ])("of a file has the text of the call that wrote it: %s", (status, plan) => {
    const path = "/home/user/.gemini/tmp/ws/id/plans/plan.md"
    const talk = new Talk(acpAgents.gemini, { mode: "plan" }).open(modes("plan", "default", "plan"))
    const diff = { type: "diff", path, oldText: "", newText: "# Plan\n\n1. First" }
    talk.update("tool_call", { toolCallId: "write_file__1", kind: "edit", title: "plan.md", content: [diff] })
    talk.update("tool_call_update", { toolCallId: "write_file__1", status })
    const title = `Requesting plan approval for: ${path}`
    talk.send(
      permissionRequest({ toolCallId: "exit_plan_mode__2", title, kind: "other" }, { options: exits })
    )
    assert.strictEqual(requested(talk)?.plan, plan)
  })

  it("ends the run of its mode without an option", () => {
    const talk = opened("plan")
    assert.deepStrictEqual(respond(talk, { _tag: "PlanApproved", endsRun: true }, key), {
      outcome: { outcome: "cancelled" }
    })
    const unsafe = opened("plan")
    assert.deepStrictEqual(respond(unsafe, { _tag: "PlanApproved", endsRun: false }, key), {
      outcome: { outcome: "cancelled" }
    })
  })

  it("approves with the option that keeps asking", () => {
    const talk = new Talk(acpAgents.qwen).open(modes("default", "default", "plan"))
    talk.send(permissionRequest(handOver, { options: exits }))
    assert.deepStrictEqual(respond(talk, { _tag: "PlanApproved", endsRun: false }, key), {
      outcome: { outcome: "selected", optionId: "proceed_once" }
    })
  })

  it("goes back with the comment as the next message", () => {
    const talk = new Talk(acpAgents.claudeAgent).open(modes("default", "default", "plan"))
    talk.send(permissionRequest(handOver, { options }))
    assert.deepStrictEqual(respond(talk, { _tag: "PlanReturned", comment: "Smaller steps." }, key), {
      outcome: { outcome: "selected", optionId: "no" }
    })
    talk.send({ id: 2, result: { stopReason: "cancelled" } })
    talk.error(-32601, "Method not found")
    assert.deepInclude(talk.last?.params, { prompt: [{ type: "text", text: "Smaller steps." }] })
    assert.isUndefined(talk.outcome)
    talk.end(null, "SIGKILL")
    assert.deepStrictEqual(invariantFindings(talk.outputs), [])
  })

  it("is a question where the agent offers several ways and none is its own", () => {
    const talk = new Talk(plain).open()
    talk.send(permissionRequest(handOver, { options: exits }))
    assert.strictEqual(requested(talk)?.kind, "question")
  })
})

describe("Acp to-do tool", () => {
  const todo = { toolCallId: "c", title: "todowrite", kind: "other", rawInput: {} }

  it("asks no person", () => {
    const talk = new Talk(acpAgents.opencode).open(modes("build", "build", "plan"))
    talk.send(permissionRequest(todo))
    assert.isEmpty(talk.requests)
    assert.deepStrictEqual(talk.last?.result, { outcome: { outcome: "selected", optionId: "once" } })
  })

  it("asks as any other tool if it names a file or a command", () => {
    for (const rawInput of [{ file_path: "/workspace/a" }, { command: "touch a" }]) {
      const talk = new Talk(acpAgents.opencode).open(modes("build", "build", "plan"))
      talk.send(permissionRequest({ ...todo, rawInput }))
      assert.lengthOf(talk.requests, 1)
    }
  })

  it("lists its steps where the agent sends no plan", () => {
    const talk = new Talk(acpAgents.opencode).open(modes("build", "build", "plan"))
    const todos = [
      { content: "First", status: "in_progress" },
      { content: "Second", status: "pending" }
    ]
    talk.update("tool_call", { ...todo, status: "pending" })
    talk.update("tool_call_update", { toolCallId: "c", status: "in_progress", rawInput: { todos } })
    assert.deepStrictEqual(talk.payloads("run.steps.updated"), [
      {
        steps: [
          { id: "1", text: "First", state: "in_progress" },
          { id: "2", text: "Second", state: "pending" }
        ]
      }
    ])
  })
})
