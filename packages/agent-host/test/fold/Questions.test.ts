/** Questions, plans and approvals as a client shows them, and what its answers decide. */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { RequestedInput } from "@corral/domain/input/InputRequest"
import { assert, describe, it } from "@effect/vitest"
import { decisionOf } from "../../src/fold/Approvals.ts"
import { answerOf, completion, inputRequest, type PlanPlace } from "../../src/fold/Questions.ts"
import type { AnswerContent } from "../../src/protocol/State.ts"

const place: PlanPlace = { mode: "plan", modes: ["plan", "ask", "auto_edit"] }
const options = [
  { id: "red", label: "Red", description: "Like a rose" },
  { id: "blue", label: "Blue" }
]

const requestFor = (question: Partial<NonNullable<RequestedInput["questions"]>[number]>): RequestedInput => ({
  kind: "question",
  title: "Q",
  questions: [{ id: "q", text: "Which?", kind: "choice", ...question }]
})

const answer = (request: RequestedInput, value: AnswerContent, id = "q") =>
  answerOf(request, place, "accept", { [id]: { state: "submitted", value } })

describe("questions", () => {
  it("begin with an option that answers nothing, and show descriptions in the question", () => {
    const state = inputRequest("i", requestFor({ options }), place)
    assert.deepStrictEqual(state?.questions, [
      {
        id: "q",
        message: "Which?\n- Red: Like a rose",
        required: true,
        kind: "single-select",
        options: [
          { id: "corral.not-decided", label: "Not decided" },
          { id: "red", label: "Red" },
          { id: "blue", label: "Blue" }
        ],
        allowFreeformInput: false
      }
    ])
  })

  it("with one option take it, or a text of the person where that is allowed", () => {
    const open = requestFor({ options, allowsOther: true })
    assert.deepStrictEqual(answer(open, { kind: "selected", value: "blue" }), { answers: { q: "blue" } })
    const notDecided = { kind: "selected", value: "corral.not-decided" } as const
    assert.deepStrictEqual(answer(open, { ...notDecided, freeformValues: ["green"] }), {
      answers: { q: { other: "green" } }
    })
    assert.isString(answer(open, notDecided))
    assert.isString(answer(requestFor({ options }), { ...notDecided, freeformValues: ["green"] }))
    assert.isString(answer(open, { kind: "boolean", value: true }))
  })

  it("with several options take them all, and none with 'Not decided' among them", () => {
    const many = requestFor({ options, multiple: true })
    assert.deepStrictEqual(answer(many, { kind: "selected-many", value: ["red", "blue"] }), {
      answers: { q: ["red", "blue"] }
    })
    assert.isString(answer(many, { kind: "selected-many", value: ["red", "corral.not-decided"] }))
    assert.isString(answer(many, { kind: "selected-many", value: [] }))
  })

  it("about yes and no are choices", () => {
    const yesNo = requestFor({ kind: "boolean" })
    assert.deepStrictEqual(answer(yesNo, { kind: "selected", value: "no" }), { answers: { q: false } })
    assert.isString(answer(yesNo, { kind: "boolean", value: true }))
    assert.isString(answer(yesNo, { kind: "selected", value: "corral.not-decided" }))
  })

  it("about numbers take a text with one, as VS Code sends it", () => {
    const number = requestFor({ kind: "number" })
    assert.deepStrictEqual(answer(number, { kind: "text", value: "4.5" }), { answers: { q: 4.5 } })
    assert.deepStrictEqual(answer(number, { kind: "number", value: 4 }), { answers: { q: 4 } })
    assert.isString(answer(number, { kind: "text", value: "four" }))
  })

  it("with a secret are not asked in an editor", () => {
    assert.isUndefined(inputRequest("i", requestFor({ kind: "text", secret: true }), place))
  })

  it("that are closed stay open", () => {
    assert.isString(answerOf(requestFor({ options }), place, "cancel", {}))
    assert.deepStrictEqual(answerOf(requestFor({ options }), place, "decline", {}), { decline: true })
  })

  it("about a plan name the mode in which it is carried out", () => {
    const plan: RequestedInput = { kind: "plan", title: "Plan", plan: "1. Do it" }
    const shown = inputRequest("i", plan, place)?.questions?.[0]
    assert.deepStrictEqual(
      shown !== undefined && "options" in shown ? shown.options.map(({ label }) => label) : [],
      [
        "Not decided",
        "Approve, and work in the mode ask",
        "Approve, and work in the mode auto_edit",
        "Send back"
      ]
    )
    assert.deepStrictEqual(answer(plan, { kind: "selected", value: "approve_ask" }, "decision"), {
      approve: true,
      mode: "ask"
    })
    assert.deepStrictEqual(
      answer(plan, { kind: "selected", value: "return", freeformValues: ["smaller"] }, "decision"),
      { approve: false, comment: "smaller" }
    )
    assert.isString(answer(plan, { kind: "selected", value: "corral.not-decided" }, "decision"))
  })

  it("about a plan send it back with a text alone, as VS Code sends a custom answer", () => {
    const plan: RequestedInput = { kind: "plan", title: "Plan", plan: "1. Do it" }
    const sentBack = { approve: false, comment: "Tests first" }
    const text = { kind: "text", value: "Tests first" } as const
    assert.deepStrictEqual(answer(plan, text, "decision"), sentBack)
    const notDecided = { kind: "selected", value: "corral.not-decided" } as const
    assert.deepStrictEqual(
      answer(plan, { ...notDecided, freeformValues: ["Tests first"] }, "decision"),
      sentBack
    )
    assert.isString(answer(plan, { kind: "text", value: " " }, "decision"))
    assert.isString(answer(plan, { kind: "selected", value: "approve_full_access" }, "decision"))
    assert.isString(
      answer(plan, { kind: "selected", value: "approve_full_access", freeformValues: ["x"] }, "decision")
    )
  })

  it("show how they ended", () => {
    assert.deepStrictEqual(
      completion(requestFor({ options }), { state: "answered", answers: { q: "red" } }),
      {
        response: "accept",
        answers: { q: { state: "submitted", value: { kind: "selected", value: "red" } } }
      }
    )
    assert.deepStrictEqual(completion(undefined, { state: "declined" }), { response: "decline" })
    assert.deepStrictEqual(completion(undefined, { state: "withdrawn" }), { response: "cancel" })
  })
})

describe("approvals", () => {
  const request: ApprovalRequest = {
    action: "write",
    risk: "low",
    title: "Write",
    input: { path: "a" },
    editable: true,
    scopes: ["once", "session"]
  }

  it("take the options of their own approval only", () => {
    const option = (id: string) => decisionOf("apr_2", request, { approved: true, selectedOptionId: id })
    assert.deepStrictEqual(option("apr_2/allow_session"), { decision: "allow", scope: "session" })
    assert.isString(option("apr_1/allow_once"))
    assert.isString(option("apr_2/allow_always"))
    assert.isString(option("apr_2/deny"))
  })

  it("without an option deny, and allow nothing", () => {
    assert.isString(decisionOf("a", request, { approved: true }))
    assert.deepStrictEqual(decisionOf("a", request, { approved: false, reasonMessage: { markdown: "no" } }), {
      decision: "deny",
      reason: "no"
    })
  })

  it("take an edited input only as the whole input", () => {
    const edited = (editedToolInput: string, of = request) =>
      decisionOf("a", of, { approved: true, selectedOptionId: "a/allow_once", editedToolInput })
    assert.deepStrictEqual(edited('{"path":"b"}'), {
      decision: "allow",
      scope: "once",
      updatedInput: { path: "b" }
    })
    assert.isString(edited("[1]"))
    assert.isString(edited('{"path":"b"}', { ...request, editable: false }))
    assert.isString(edited("ls", { ...request, command: "rm" }))
  })
})
