import type { AdapterOutput, InputResponse } from "@corral/domain/run/RuntimeAdapter"
import { answerIssues } from "@corral/domain/input/AnswerCheck"
import { assert, describe, it } from "@effect/vitest"
import {
  item,
  names,
  parsed,
  replies,
  send,
  startProtocol,
  turnCompleted,
  turnStarted
} from "./Conversation.ts"

const unanswered: InputResponse = { _tag: "Unanswered", reason: "The user did not answer." }

const inputIn = (outputs: ReadonlyArray<AdapterOutput>) => {
  const output = outputs.find(({ _tag }) => _tag === "InputRequested")
  assert(output?._tag === "InputRequested")
  return output
}

const option = (label: string) => ({ label, description: `${label} is a colour` })
const colour = {
  id: "colour",
  header: "Colour",
  question: "Which colour?",
  isOther: true,
  isSecret: false,
  options: [option("Red"), option("Blue")]
}
const token = {
  id: "token",
  header: "",
  question: "Which token?",
  isOther: false,
  isSecret: true,
  options: null
}

const ask = (questions: ReadonlyArray<object>, more: object = {}) => ({
  id: 9,
  method: "item/tool/requestUserInput",
  params: { threadId: "own", turnId: "turn-1", itemId: "call", questions, ...more }
})

const elicit = (more: object) => ({
  id: 5,
  method: "mcpServer/elicitation/request",
  params: { threadId: "own", serverName: "tracker", message: "Which branch?", ...more }
})
const form = {
  mode: "form",
  _meta: null,
  requestedSchema: {
    type: "object",
    properties: {
      branch: { type: "string", title: "Branch", default: "main" },
      force: { type: "boolean" },
      level: { type: "string", enum: ["low", "high"], enumNames: ["Low", "High"] }
    },
    required: ["branch"]
  }
}

describe("questions of Codex's tool", () => {
  it("keep their order, labels and descriptions", () => {
    const { key, request } = inputIn(send(startProtocol(), ask([colour, token])))
    assert.strictEqual(key, "9")
    assert.deepStrictEqual(request, {
      kind: "question",
      title: "Which colour?",
      callId: "call",
      questions: [
        {
          id: "colour",
          header: "Colour",
          text: "Which colour?",
          kind: "choice",
          allowsOther: true,
          options: [
            { id: "Red", label: "Red", description: "Red is a colour" },
            { id: "Blue", label: "Blue", description: "Blue is a colour" }
          ]
        },
        { id: "token", header: "", text: "Which token?", kind: "text", secret: true }
      ]
    })
  })

  it("receive the label, the text and the remark of a person, once", () => {
    const protocol = startProtocol()
    const { key } = inputIn(send(protocol, ask([colour, token])))
    const answers = { colour: { other: "Green" }, token: "abc" }
    assert.deepStrictEqual(parsed(protocol.respond?.(key, { _tag: "Answered", answers, comment: "Dark." })), [
      {
        id: 9,
        result: {
          answers: { colour: { answers: ["Green", "user_note: Dark."] }, token: { answers: ["abc"] } }
        }
      }
    ])
    assert.isUndefined(protocol.respond?.(key, { _tag: "Answered", answers }))
  })

  it("with equal or long labels have different ids, and receive the label", () => {
    const long = "x".repeat(300)
    const protocol = startProtocol()
    const { key, request } = inputIn(
      send(protocol, ask([{ ...colour, options: [long, "Red", "Red"].map(option) }]))
    )
    const ids = request.questions?.[0]?.options?.map(({ id }) => id)
    assert.deepStrictEqual(ids, ["option-1", "Red", "option-3"])
    const written = protocol.respond?.(key, { _tag: "Answered", answers: { colour: "option-1" } })
    assert.deepStrictEqual(Object(parsed(written)[0]).result.answers.colour.answers, [long])
  })

  it("without an answer receive none, and the reason as a message to the turn", () => {
    const protocol = startProtocol()
    const { key } = inputIn(send(protocol, ask([colour])))
    const [response, steer] = parsed(protocol.respond?.(key, unanswered))
    assert.deepStrictEqual(response, { id: 9, result: { answers: {} } })
    assert.deepInclude(steer, { method: "turn/steer" })
    assert.strictEqual(Object(steer).params.input[0].text, "The user did not answer.")
  })

  it("are withdrawn when Codex no longer waits, and cannot be answered then", () => {
    const resolved = { method: "serverRequest/resolved", params: { threadId: "own", requestId: 9 } }
    for (const [more, state] of [
      [{}, "withdrawn"],
      [{ autoResolutionMs: 60_000 }, "self_answered"]
    ] as const) {
      const protocol = startProtocol()
      const { key } = inputIn(send(protocol, ask([colour], more)))
      assert.deepStrictEqual(send(protocol, resolved), [{ _tag: "InputWithdrawn", key, state }])
      assert.isUndefined(protocol.respond?.(key, unanswered))
    }
  })

  it("that were answered are not withdrawn", () => {
    const protocol = startProtocol()
    const { key } = inputIn(send(protocol, ask([colour])))
    protocol.respond?.(key, { _tag: "Answered", answers: { colour: "Red" } })
    assert.deepStrictEqual(
      send(protocol, { method: "serverRequest/resolved", params: { threadId: "own", requestId: 9 } }),
      []
    )
  })
})

describe("forms of MCP servers", () => {
  it("are questions, and a default is only shown", () => {
    const protocol = startProtocol()
    const { key, request } = inputIn(send(protocol, elicit(form)))
    assert.deepStrictEqual(
      request.questions?.map(({ id, kind, required, text }) => [id, kind, required ?? true, text]),
      [
        ["branch", "text", true, "Branch (default: main)"],
        ["force", "boolean", false, "force"],
        ["level", "choice", false, "level"]
      ]
    )
    const answers = { branch: "next", force: false, level: "high" }
    assert.deepStrictEqual(answerIssues(request, { answers }), [])
    assert.deepStrictEqual(parsed(protocol.respond?.(key, { _tag: "Answered", answers })), [
      { id: 5, result: { action: "accept", content: answers, _meta: null } }
    ])
  })

  it("are declined without an answer", () => {
    const declined = [{ id: 5, result: { action: "decline", content: null, _meta: null } }]
    const protocol = startProtocol()
    const { key } = inputIn(send(protocol, elicit(form)))
    assert.deepStrictEqual(parsed(protocol.respond?.(key, unanswered)), declined)
    const nested = { ...form, requestedSchema: { type: "object", properties: { a: { type: "object" } } } }
    const outputs = send(startProtocol(), elicit(nested))
    assert.deepStrictEqual(names(outputs), ["Unknown", "run.notice", "Reply"])
    assert.deepStrictEqual(replies(outputs), declined)
  })

  it("with an address are links", () => {
    const protocol = startProtocol()
    const url = "https://tracker.example/sign-in"
    const { key, request } = inputIn(
      send(protocol, elicit({ mode: "url", url, elicitationId: "e", _meta: null }))
    )
    assert.deepStrictEqual(request, { kind: "link", title: "Which branch?", url })
    assert.deepStrictEqual(parsed(protocol.respond?.(key, { _tag: "Answered", answers: {} })), [
      { id: 5, result: { action: "accept", content: null, _meta: null } }
    ])
  })
})

describe("questions that end a turn of Codex", () => {
  const message = item("completed", {
    type: "agentMessage",
    id: "m",
    text: "Which colour?",
    questions: [{ title: "Which colour?", options: ["Red", "Blue"] }]
  })

  it("come before the outcome, and their answer starts the next turn", () => {
    const protocol = startProtocol()
    const outputs = send(protocol, message, turnCompleted("turn-1"))
    assert.deepStrictEqual(names(outputs), ["run.message.completed", "InputRequested", "Completed"])
    const { key, request } = inputIn(outputs)
    assert.isTrue(request.startsTurn)
    const [started] = parsed(protocol.respond?.(key, { _tag: "Answered", answers: { "1": "Blue" } }))
    assert.deepInclude(started, { method: "turn/start" })
    assert.strictEqual(Object(started).params.input[0].text, "Blue")
    assert.deepStrictEqual(names(send(protocol, turnStarted("turn-2"))), ["TurnStarted"])
  })

  it("of several messages are one request", () => {
    const protocol = startProtocol()
    const more = item("completed", {
      type: "agentMessage",
      id: "n",
      text: "More",
      questions: [
        { title: "Which size?", options: ["Small", "Large"] },
        { title: "By when?", options: null }
      ]
    })
    const last = item("completed", { type: "agentMessage", id: "o", text: "Done", questions: null })
    const outputs = send(protocol, message, more, last, turnCompleted("turn-1"))
    const { key, request } = inputIn(outputs)
    assert.strictEqual(outputs.filter(({ _tag }) => _tag === "InputRequested").length, 1)
    assert.deepStrictEqual(
      request.questions?.map(({ id, text }) => [id, text]),
      [
        ["1", "Which colour?"],
        ["2", "Which size?"],
        ["3", "By when?"]
      ]
    )
    const answers = { "1": "Blue", "2": "Large", "3": "Monday" }
    const [started] = parsed(protocol.respond?.(key, { _tag: "Answered", answers }))
    assert.strictEqual(
      Object(started).params.input[0].text,
      "Which colour?\nBlue\n\nWhich size?\nLarge\n\nBy when?\nMonday"
    )
  })

  it("start no turn without an answer", () => {
    const protocol = startProtocol()
    const { key } = inputIn(send(protocol, message, turnCompleted("turn-1")))
    assert.isUndefined(protocol.respond?.(key, unanswered))
  })

  it("are withdrawn when another turn starts", () => {
    const protocol = startProtocol()
    const { key } = inputIn(send(protocol, message, turnCompleted("turn-1")))
    protocol.input("Something else.")
    assert.deepStrictEqual(send(protocol, turnStarted("turn-2")), [
      { _tag: "TurnStarted", by: "message" },
      { _tag: "InputWithdrawn", key, state: "withdrawn" }
    ])
    assert.isUndefined(protocol.respond?.(key, { _tag: "Answered", answers: { "1": "Blue" } }))
  })

  it("are not asked if a message is queued", () => {
    const protocol = startProtocol()
    protocol.input("Blue, please.")
    assert.notInclude(names(send(protocol, message, turnCompleted("turn-1"))), "InputRequested")
  })
})

describe("plans of Codex", () => {
  const plan = item("completed", { type: "plan", id: "p", text: "# Plan\n\n1. Write\n" })
  const modeOf = (request: unknown): unknown => Object(request).params?.collaborationMode?.mode

  it("are requests in the plan mode, and the text of the outcome", () => {
    const outputs = send(startProtocol({ mode: "plan" }), plan, turnCompleted("turn-1"))
    assert.deepStrictEqual(names(outputs), ["InputRequested", "Completed"])
    assert.deepStrictEqual(inputIn(outputs).request, {
      kind: "plan",
      title: "Plan",
      plan: "# Plan\n\n1. Write\n",
      startsTurn: true
    })
    const outcome = outputs.at(-1)
    assert(outcome?._tag === "Outcome")
    assert.deepInclude(outcome.outcome, { text: "# Plan\n\n1. Write\n" })
  })

  it("that are sent back start a turn in the plan mode with the comment", () => {
    const protocol = startProtocol({ mode: "plan" })
    const { key } = inputIn(send(protocol, plan, turnCompleted("turn-1")))
    const [started] = parsed(protocol.respond?.(key, { _tag: "PlanReturned", comment: "Add tests." }))
    assert.strictEqual(modeOf(started), "plan")
    assert.include(Object(started).params.input[0].text, "Add tests.")
  })

  it("that are approved for the next run write nothing", () => {
    const protocol = startProtocol({ mode: "plan" })
    const { key } = inputIn(send(protocol, plan, turnCompleted("turn-1")))
    assert.isUndefined(protocol.respond?.(key, { _tag: "PlanApproved", endsRun: true }))
  })

  it("are messages in other modes, and where the turn fails", () => {
    assert.deepStrictEqual(names(send(startProtocol(), plan, turnCompleted("turn-1"))), [
      "run.message.completed",
      "Completed"
    ])
    const failed = send(startProtocol({ mode: "plan" }), plan, turnCompleted("turn-1", "own", "failed"))
    assert.include(names(failed), "run.message.completed")
    assert.notInclude(names(failed), "InputRequested")
  })

  it("a conversation that is continued in another mode leaves the plan mode", () => {
    const next = (more: object) => {
      const protocol = startProtocol(more)
      send(protocol, turnCompleted("turn-1"))
      return modeOf(parsed(protocol.input("Next."))[0])
    }
    assert.strictEqual(next({ mode: "plan" }), "plan")
    assert.strictEqual(next({ mode: "ask", resumeSessionId: "own" }), "default")
    assert.isUndefined(next({ mode: "ask" }))
  })
})
