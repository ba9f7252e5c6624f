import type { RequestedInput } from "@corral/domain/input/InputRequest"
import type { RunMode } from "@corral/domain/approval/RunMode"
import { assert, describe, it } from "@effect/vitest"
import { type AnswerArguments, isUnanswered, readArguments } from "../../src/question/ReadAnswer.ts"
import { requestOf, colour, link, name, plan, port, sure, tools } from "./Questions.ts"

const none: AnswerArguments = {
  options: [],
  texts: [],
  values: [],
  others: [],
  done: false,
  decline: false,
  approve: false,
  sendBack: false,
  mode: undefined,
  comment: undefined
}

const read = (request: RequestedInput, flagged: Partial<AnswerArguments>, mode: RunMode = "ask") =>
  readArguments({ ...none, ...flagged }, request, mode)

/** First line of the refusal. */
const refusal = (request: RequestedInput, flagged: Partial<AnswerArguments>): string | undefined => {
  const answer = read(request, flagged)
  return "problem" in answer ? answer.problem.split("\n")[0] : undefined
}

describe("readArguments", () => {
  it("names an option by number, label or id", () => {
    for (const option of ["2", "Blue", "blue"])
      assert.deepStrictEqual(read(requestOf(colour), { options: [option] }), { answers: { colour: "blue" } })
    const numbered = {
      ...colour,
      options: [
        { id: "2", label: "Red" },
        { id: "1", label: "Blue" }
      ]
    }
    assert.include(refusal(requestOf(numbered), { options: ["2"] }), "More than one option")
    assert.deepStrictEqual(read(requestOf(numbered), { options: ["#2"] }), { answers: { colour: "1" } })
  })

  it("names questions of any id", () => {
    const questions = ["__proto__", "a", "a=b"].map((id) => ({ id, text: "Which?", kind: "text" }) as const)
    const answered = read(requestOf(...questions), { values: ["__proto__=x", "a=y", "a=b=z=1"] })
    const expected: ReadonlyArray<readonly [string, unknown]> = [
      ["__proto__", "x"],
      ["a", "y"],
      ["a=b", "z=1"]
    ]
    assert("answers" in answered)
    assert.deepStrictEqual<unknown>(Object.entries(answered.answers), expected)
  })

  it("combines options and a text", () => {
    assert.deepStrictEqual(read(requestOf(tools), { options: ["1", "Build"], texts: ["docs"] }), {
      answers: { tools: ["a", "c", { other: "docs" }] }
    })
    assert.deepStrictEqual(read(requestOf(tools), { options: ["1"] }), { answers: { tools: ["a"] } })
  })

  it("reads texts, numbers, and yes or no", () => {
    assert.deepStrictEqual(read(requestOf(name), { texts: ["Corral"] }), { answers: { name: "Corral" } })
    assert.deepStrictEqual(read(requestOf(port), { texts: ["80"] }), { answers: { port: 80 } })
    assert.deepStrictEqual(read(requestOf(sure), { texts: ["no"] }), { answers: { sure: false } })
  })

  it("names the questions of a form", () => {
    assert.deepStrictEqual(
      read(requestOf(colour, tools, name, port), {
        values: ["colour=Red", "tools=1", "tools=3", "3=a=b"],
        others: ["tools=docs"],
        comment: "Thanks"
      }),
      { answers: { colour: "red", tools: ["a", "c", { other: "docs" }], name: "a=b" }, comment: "Thanks" }
    )
  })

  it("decides a plan", () => {
    assert.deepStrictEqual(read(plan, { approve: true }, "plan"), { approve: true, mode: "ask" })
    assert.deepStrictEqual(read(plan, { approve: true, mode: "auto_edit" }), {
      approve: true,
      mode: "auto_edit"
    })
    assert.deepStrictEqual(read(plan, { sendBack: true, comment: "No" }), { approve: false, comment: "No" })
    assert.deepStrictEqual(read(link, { done: true }), { answers: {} })
    assert.deepStrictEqual(read(plan, { decline: true }), { decline: true })
  })

  it("refuses what does not fit, with one reason", () => {
    assert.strictEqual(refusal(requestOf(colour), { options: ["7"] }), "colour: There is no such option.")
    assert.strictEqual(
      refusal(requestOf(colour), { texts: ["green"] }),
      "colour: This question takes none but its options."
    )
    assert.strictEqual(refusal(requestOf(colour), { options: ["1", "2"] }), "colour: Choose one option.")
    assert.strictEqual(
      refusal(requestOf(name), { options: ["1"] }),
      "This question has no options. Use --text."
    )
    assert.strictEqual(
      refusal(requestOf(colour, name), { options: ["1"] }),
      "There are several questions. Name each one: --value QUESTION=VALUE."
    )
    assert.strictEqual(
      refusal(requestOf(colour, name), { values: ["colour=1"] }),
      "name: Answer this question."
    )
    assert.include(refusal(requestOf(colour, name), { values: ["size=1"] }), "There is no such question.")
    assert.include(refusal(requestOf(colour), { approve: true }), "Only a plan")
    assert.include(refusal(plan, { texts: ["yes"] }), "This is a plan.")
    assert.include(refusal(requestOf(colour), { options: ["1"], decline: true }), "only one of these")
    assert.strictEqual(
      refusal(requestOf(port), { texts: ["99999"] }),
      "port: Answer with a number up to 9999."
    )
  })

  it("knows a command without an answer", () => {
    assert.isTrue(isUnanswered({ ...none, comment: "x" }))
    assert.isFalse(isUnanswered({ ...none, decline: true }))
  })
})
