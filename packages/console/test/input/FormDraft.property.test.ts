/** Answers from what a person chose and wrote, for any questions. */
import { assert, describe, it } from "@effect/vitest"
import { answerIssues } from "@corral/domain/input/AnswerCheck"
import type { Question } from "@corral/domain/input/InputRequest"
import * as fc from "fast-check"
import {
  type FormDraft,
  allowsText,
  answersOf,
  draftOf,
  emptyDraft,
  hasChoice,
  optionIds,
  problemOf,
  textAnswer,
  valueOf,
  withOption,
  withOther,
  withText,
  withoutChoices
} from "../../src/input/FormDraft.ts"

const flag = fc.option(fc.boolean(), { nil: undefined })
const definedOnly = (of: object): object =>
  Object.fromEntries(Object.entries(of).filter(([, value]) => value !== undefined))

const question = (id: string): fc.Arbitrary<Question> =>
  fc
    .record({
      kind: fc.constantFrom("choice" as const, "text" as const, "number" as const, "boolean" as const),
      count: fc.integer({ min: 1, max: 12 }),
      multiple: flag,
      allowsOther: flag,
      required: flag,
      integer: flag
    })
    .map(
      ({ allowsOther, count, integer, kind, multiple, required }) =>
        definedOnly({
          id,
          text: `Question ${id}`,
          kind,
          required,
          ...(kind === "number" ? { integer } : {}),
          ...(kind === "choice"
            ? {
                multiple,
                allowsOther,
                options: Array.from({ length: count }, (_, at) => ({ id: `o${at}`, label: `Option ${at}` }))
              }
            : {})
        }) as Question
    )

const forms = fc
  .integer({ min: 1, max: 4 })
  .chain((count) => fc.tuple(...Array.from({ length: count }, (_, at) => question(`q${at}`))))

interface Step {
  readonly question: number
  readonly act: "option" | "other" | "text"
  readonly at: number
  readonly text: string
}

const step: fc.Arbitrary<Step> = fc.record({
  question: fc.nat(3),
  act: fc.constantFrom("option" as const, "other" as const, "text" as const),
  at: fc.nat(11),
  text: fc.oneof(fc.constantFrom("", " ", "12", "1.5", "-3", "1e3", "twelve"), fc.string({ maxLength: 12 }))
})

/** A form offers only what its question has. */
const apply = (
  questions: ReadonlyArray<Question>,
  draft: FormDraft,
  { act, at, question: nth, text }: Step
) => {
  const on = questions[nth % questions.length]
  if (on === undefined) return draft
  const options = optionIds(on)
  const option = options[at % Math.max(1, options.length)]
  if (act === "option") return option === undefined ? draft : withOption(draft, on, option)
  if (act === "other") return on.allowsOther === true ? withOther(draft, on, at % 2 === 0) : draft
  return withText(draft, on, text)
}

describe("FormDraft", () => {
  it("answers nothing before the person chose or wrote something", () => {
    fc.assert(
      fc.property(forms, (questions) => {
        assert.deepStrictEqual(answersOf(questions, emptyDraft), {})
        assert.isFalse(hasChoice(emptyDraft))
      })
    )
  })

  it("gives answers that the check accepts, where the form says no problem", () => {
    fc.assert(
      fc.property(forms, fc.array(step, { maxLength: 12 }), (questions, steps) => {
        const draft = steps.reduce((before, each) => apply(questions, before, each), emptyDraft)
        const problems = questions.filter(
          (each) =>
            problemOf(each, valueOf(each, draftOf(draft, each)), draftOf(draft, each).isOther) !== undefined
        )
        if (problems.length > 0) return
        const request = { kind: "question" as const, title: "Form", questions }
        assert.deepStrictEqual(answerIssues(request, { answers: answersOf(questions, draft) }), [])
      }),
      { numRuns: 1_000 }
    )
  })

  it("has no choice after the choices are cleared, and keeps the texts", () => {
    fc.assert(
      fc.property(forms, fc.array(step, { maxLength: 12 }), (questions, steps) => {
        const draft = steps.reduce((before, each) => apply(questions, before, each), emptyDraft)
        const cleared = withoutChoices(draft)
        assert.isFalse(hasChoice(cleared))
        for (const each of questions)
          assert.strictEqual(draftOf(cleared, each).text, draftOf(draft, each).text)
      })
    )
  })

  it("takes a second choice back where several can be chosen", () => {
    const several: Question = {
      id: "q",
      text: "Which?",
      kind: "choice",
      multiple: true,
      options: [
        { id: "b", label: "B" },
        { id: "a", label: "A" }
      ]
    }
    const both = withOption(withOption(emptyDraft, several, "a"), several, "b")
    assert.deepStrictEqual(answersOf([several], both), { q: ["b", "a"] })
    assert.deepStrictEqual(answersOf([several], withOption(both, several, "b")), { q: ["a"] })
  })

  it("answers a question that allows a text with exactly that text", () => {
    fc.assert(
      fc.property(question("q"), fc.string({ minLength: 1 }), (each, text) => {
        if (!allowsText(each) || text.trim() === "") return
        const request = { kind: "question" as const, title: "Form", questions: [each] }
        const answer = { answers: { q: textAnswer(each, text) } }
        assert.deepStrictEqual(answerIssues(request, answer), [])
      })
    )
  })
})
