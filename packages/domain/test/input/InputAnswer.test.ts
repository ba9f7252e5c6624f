import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { AnswerInput, InputAnswer } from "../../src/input/InputRequest.ts"

const answers = { answers: { colour: "red" } }
const decline = { decline: true }
const approve = { approve: true }
const target = {
  runId: "run_01M8GG0MPFWNBWWEWPV5GHXYHB",
  inputId: "inq_01M8GG0MPFWNBWWEWPV5GHXYHB"
}

const isAnswer = (answer: object): boolean => {
  const results = [
    Result.isSuccess(Schema.decodeUnknownResult(InputAnswer)(answer)),
    Result.isSuccess(Schema.decodeUnknownResult(AnswerInput)({ ...target, ...answer }))
  ]
  assert.strictEqual(new Set(results).size, 1)
  return results.every(Boolean)
}

describe("InputAnswer", () => {
  it("is values, a refusal or a decision", () => {
    for (const answer of [answers, decline, approve, { approve: false, comment: "Test it first." }])
      assert.isTrue(isAnswer(answer), JSON.stringify(answer))
  })

  it("is not more than one of them, and not nothing", () => {
    for (const answer of [
      {},
      { ...answers, ...decline },
      { ...decline, ...approve },
      { ...answers, ...approve },
      { ...answers, ...decline, ...approve }
    ])
      assert.isFalse(isAnswer(answer), JSON.stringify(answer))
  })
})
