import type { AdapterOutput, InputResponse, Protocol, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { load, recordedStdin } from "@corral/testing/recordings/Fixtures"
import { tries } from "@corral/testing/time/Effort"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Buffer } from "node:buffer"
import { claudeCode } from "../../src/ClaudeCode.ts"

const start: RunStart = { prompt: "Please do the task.", mode: "ask", workspacePath: "/workspace" }
const send = (protocol: Protocol, value: object): ReadonlyArray<AdapterOutput> =>
  protocol.step(Buffer.from(`${JSON.stringify(value)}\n`))
const parsed = (text: string | undefined): unknown =>
  (text ?? "null")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))

/** The protocol of a recording at its first question, and what the program was answered. */
const askedIn = (name: string) => {
  const recording = load("claude-code", name)
  const protocol = claudeCode.protocol(recording.start)
  const lines = recording.stdout.toString().split("\n")
  for (const line of lines) {
    const question = protocol.step(Buffer.from(`${line}\n`)).find(({ _tag }) => _tag === "InputRequested")
    if (question?._tag !== "InputRequested") continue
    const recorded = (recordedStdin("claude-code", name) ?? "")
      .trim()
      .split("\n")
      .filter((each) => each.includes(question.key))
    return { protocol, ...question, recorded: recorded.map((each) => JSON.parse(each)) }
  }
  return assert.fail("nothing is asked")
}

const permission = (tool: string, input: object) => ({
  type: "control_request",
  request_id: "r1",
  request: { subtype: "can_use_tool", tool_name: tool, input, tool_use_id: "call-1" }
})

describe("ClaudeInputs", () => {
  it("sends the program what it was sent when the question was recorded", () => {
    const responses: Readonly<Record<string, InputResponse>> = {
      question: { _tag: "Answered", answers: { "0": "1" } },
      "questions-of-several-options": {
        _tag: "Answered",
        answers: { "0": ["0", "1", { other: 'Green, "mint"' }], "1": { other: "Three" } }
      },
      "question-declined": { _tag: "Unanswered", reason: "The user did not answer." },
      "plan-approved": { _tag: "PlanApproved", endsRun: true },
      "plan-returned": { _tag: "PlanReturned", comment: "Smaller" },
      "mcp-form": {
        _tag: "Answered",
        answers: { branch: "main", level: "minor", count: 3, dry: true, tags: ["a"] }
      }
    }
    for (const [name, response] of Object.entries(responses)) {
      const { key, protocol, recorded } = askedIn(name)
      assert.deepStrictEqual(parsed(protocol.respond?.(key, response)), recorded, name)
      assert.isUndefined(protocol.respond?.(key, response), "it is answered once")
    }
  })

  it("shows a question with its options in the program's order, and takes other answers", () => {
    assert.deepStrictEqual(askedIn("question").request, {
      kind: "question",
      title: "Which colour do you want?",
      questions: [
        {
          id: "0",
          text: "Which colour do you want?",
          header: "Colour",
          kind: "choice",
          options: [
            { id: "0", label: "Red", description: "A warm colour" },
            { id: "1", label: "Blue", description: "A cold colour" }
          ],
          allowsOther: true
        }
      ],
      callId: "toolu_fake000002"
    })
  })

  it("takes the text of a plan from its call when the request has none", () => {
    const { request } = askedIn("plan-approved")
    assert.deepInclude(request, { kind: "plan", title: "Plan", plan: "# Plan\n\n1. Do it\n" })
  })

  it("approves a plan in a run that may carry it out, and passes on the comment", () => {
    const protocol = claudeCode.protocol(start)
    send(protocol, permission("ExitPlanMode", { plan: "Do it." }))
    const response = { _tag: "PlanApproved", comment: "Quickly.", endsRun: false } as const
    const [answer, message] = (protocol.respond?.("r1", response) ?? "").trim().split("\n")
    assert.deepInclude(JSON.parse(answer ?? ""), {
      response: {
        subtype: "success",
        request_id: "r1",
        response: { behavior: "allow", updatedInput: { plan: "Do it." } }
      }
    })
    assert.deepInclude(JSON.parse(message ?? ""), { message: { role: "user", content: "Quickly." } })
  })

  it("refuses a call that has no question, and requests no approval for it", () => {
    const [output, ...others] = send(claudeCode.protocol(start), permission("AskUserQuestion", {}))
    assert.deepStrictEqual(others, [])
    assert.include(output?._tag === "Reply" ? output.text : "", `"behavior":"deny"`)
  })

  it("opens no address, and withdraws a link that the person has followed", () => {
    const protocol = claudeCode.protocol(start)
    const url = "https://example.com/sign-in"
    const request = { subtype: "elicitation", mode: "url", message: "Sign in.", url, elicitation_id: "e1" }
    const outputs = [
      ...send(protocol, { type: "control_request", request_id: "r1", request }),
      ...send(protocol, { type: "system", subtype: "elicitation_complete", elicitation_id: "e1" })
    ]
    assert.deepStrictEqual(outputs, [
      { _tag: "InputRequested", key: "r1", request: { kind: "link", title: "Sign in.", url } },
      { _tag: "InputWithdrawn", key: "r1", state: "withdrawn" }
    ])
    assert.isUndefined(protocol.respond?.("r1", { _tag: "Answered", answers: {} }))
  })

  it("declines a form with a field that cannot be asked, and says so", () => {
    const schema = { type: "object", properties: { place: { type: "object" } } }
    const request = { subtype: "elicitation", message: "Where?", requested_schema: schema }
    const outputs = send(claudeCode.protocol(start), { type: "control_request", request_id: "r1", request })
    assert.deepStrictEqual(
      outputs.map((output) => (output._tag === "Event" ? output.event.type : output._tag)),
      ["run.notice", "Reply"]
    )
  })

  it("withdraws a question whose call has a result, because the program continued", () => {
    const protocol = claudeCode.protocol(start)
    const input = { questions: [{ question: "Which?", options: [{ label: "Red" }] }] }
    const call = { type: "tool_use", id: "call-1", name: "AskUserQuestion", input }
    send(protocol, { type: "assistant", message: { id: "m", content: [call] } })
    send(protocol, permission("AskUserQuestion", input))
    const result = { type: "tool_result", tool_use_id: "call-1", content: "No response after 60s" }
    const outputs = send(protocol, { type: "user", message: { content: [result] } })
    assert.deepInclude(outputs, { _tag: "InputWithdrawn", key: "r1", state: "self_answered" })
  })
})

const Label = Schema.String.check(Schema.isMinLength(4), Schema.isMaxLength(40))
const Questions = Schema.NonEmptyArray(
  Schema.Struct({
    question: Label,
    multiSelect: Schema.Boolean,
    options: Schema.NonEmptyArray(Schema.Struct({ label: Label, description: Label }))
  })
)

/** Every text of a value. */
const textsOf = (value: unknown): ReadonlyArray<string> => {
  if (typeof value === "string") return [value]
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsOf) : []
}

describe("an answer to a question", () => {
  it.prop(
    "has no option when no person answers",
    [Questions, Schema.String],
    ([questions, reason]) => {
      const unanswered: ReadonlyArray<InputResponse> = [
        { _tag: "Unanswered", reason },
        { _tag: "Answered", answers: {} },
        { _tag: "PlanApproved", endsRun: false },
        { _tag: "PlanReturned" }
      ]
      for (const response of unanswered) {
        const protocol = claudeCode.protocol(start)
        send(protocol, permission("AskUserQuestion", { questions }))
        const texts = textsOf(JSON.parse(protocol.respond?.("r1", response) ?? "null"))
        const labels = questions.flatMap(({ options }) => options.map(({ label }) => label))
        assert.include(texts, "deny")
        assert.deepStrictEqual(
          labels.filter((label) => label !== reason && label !== "deny" && texts.includes(label)),
          []
        )
      }
    },
    tries(100)
  )

  it.prop(
    "has exactly the chosen labels, by the text of the question",
    [Questions, Schema.Int],
    ([questions, choice]) => {
      const protocol = claudeCode.protocol(start)
      send(protocol, permission("AskUserQuestion", { questions }))
      const at = ({ length }: ReadonlyArray<unknown>): number => Math.abs(choice) % length
      const answers = Object.fromEntries(
        questions.map(({ options }, index) => [String(index), String(at(options))])
      )
      const written = JSON.parse(protocol.respond?.("r1", { _tag: "Answered", answers }) ?? "null")
      assert.deepStrictEqual(
        written.response.response.updatedInput.answers,
        Object.fromEntries(questions.map(({ options, question }) => [question, options[at(options)]?.label]))
      )
    },
    tries(100)
  )
})
