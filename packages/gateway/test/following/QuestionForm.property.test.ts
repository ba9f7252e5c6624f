/** Answers from cards: each contains what the person chose or wrote, and nothing else. */
import { assert, describe, it } from "@effect/vitest"
import type { InputAnswer, Question, RequestedInput } from "@corral/domain/input/InputRequest"
import { answerIssues } from "@corral/domain/input/AnswerCheck"
import * as fc from "fast-check"
import {
  answerOfClick,
  answerOfText,
  answerProblem,
  formFields,
  optionButtons,
  textQuestion
} from "../../src/following/QuestionForm.ts"
import type { FormValues } from "../../src/platform/ChatPlatform.ts"

const word = fc.string({ minLength: 1, maxLength: 12 })
const question = (at: number): fc.Arbitrary<Question> =>
  fc
    .record({
      kind: fc.constantFrom("choice" as const, "text" as const, "number" as const, "boolean" as const),
      labels: fc.array(word, { minLength: 1, maxLength: 5 }),
      multiple: fc.boolean(),
      allowsOther: fc.boolean(),
      required: fc.boolean()
    })
    .map(({ allowsOther, kind, labels, multiple, required }) => ({
      id: `id ${at}`,
      text: `Question ${at}?`,
      kind,
      required,
      ...(kind === "choice"
        ? { multiple, allowsOther, options: labels.map((label, place) => ({ id: `option ${place}`, label })) }
        : {})
    }))
const request: fc.Arbitrary<RequestedInput> = fc
  .integer({ min: 1, max: 4 })
  .chain((count) => fc.tuple(...Array.from({ length: count }, (_, at) => question(at))))
  .map((questions) => ({ kind: "question", title: "Form", questions }))

/** Every text and every chosen option of an answer. */
const partsOf = (answer: InputAnswer): ReadonlyArray<unknown> =>
  "answers" in answer ? Object.values(answer.answers).flat() : []

const withValues = request.chain((form) => {
  const entries = formFields(form).map((field) =>
    field._tag === "Text"
      ? fc.array(word, { maxLength: 1 })
      : fc.subarray(
          field.options.map(({ value }) => value),
          { maxLength: field.multiple ? field.options.length : 1 }
        )
  )
  return fc.tuple(...entries).map((texts): readonly [RequestedInput, FormValues] => [
    form,
    Object.fromEntries(
      formFields(form).flatMap(({ name }, at) => {
        const entered: ReadonlyArray<string> = texts[at] ?? []
        return entered.length === 0 ? [] : [[name, entered]]
      })
    )
  ])
})

describe("QuestionForm", () => {
  it("answers with as many parts as the person entered", () => {
    fc.assert(
      fc.property(withValues, ([form, values]) => {
        const answer = answerOfClick(form, "submit", values)
        const entered = Object.values(values).flat()
        const isBlank = (text: string) => text.trim() === ""
        assert.isAtMost(partsOf(answer).length, entered.length)
        if (!entered.some(isBlank)) assert.lengthOf(partsOf(answer), entered.length)
        if (answerProblem(form, answer) === undefined) assert.deepStrictEqual(answerIssues(form, answer), [])
      })
    )
  })

  it("answers nothing with empty fields", () => {
    fc.assert(
      fc.property(request, (form) => {
        assert.deepStrictEqual(answerOfClick(form, "submit", {}), { answers: {} })
      })
    )
  })

  it("ignores options that the card does not have", () => {
    fc.assert(
      fc.property(request, fc.integer(), (form, place) => {
        const label = optionButtons(form)?.[place]
        const answer = answerOfClick(form, { option: place }, {})
        assert.lengthOf(partsOf(answer), label === undefined ? 0 : 1)
      })
    )
  })

  it("takes a text for a question that allows it, and never for a secret", () => {
    const secret: Question = { id: "token", text: "Token?", kind: "text", secret: true }
    assert.isUndefined(textQuestion({ kind: "question", title: "", questions: [secret] }))
    const tools: Question = {
      id: "t",
      text: "Tools?",
      kind: "choice",
      multiple: true,
      allowsOther: true,
      options: []
    }
    assert.strictEqual(textQuestion({ kind: "question", title: "", questions: [tools] }), tools)
    assert.deepStrictEqual(answerOfText(tools, "docs"), { answers: { t: [{ other: "docs" }] } })
    assert.isUndefined(textQuestion({ kind: "question", title: "", questions: [tools, tools] }))
  })

  it("says which question an answer does not fit", () => {
    const port: Question = { id: "port", text: "Port?", kind: "number" }
    const form: RequestedInput = { kind: "question", title: "", questions: [port, { ...port, id: "b" }] }
    assert.strictEqual(
      answerProblem(form, answerOfClick(form, "submit", { q0: ["80"], q1: ["many"] })),
      "2. Answer with a number."
    )
  })
})
