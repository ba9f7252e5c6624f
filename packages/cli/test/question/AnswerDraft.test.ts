import type { InputAnswer, RequestedInput } from "@corral/domain/input/InputRequest"
import { answerIssues } from "@corral/domain/input/AnswerCheck"
import { assert, describe, it } from "@effect/vitest"
import { property, assert as check, array, constantFrom, oneof, string } from "fast-check"
import { AnswerDraft } from "../../src/question/AnswerDraft.ts"
import { requestOf, colour, link, name, plan, port, sure, token, tools } from "./Questions.ts"

/** The answer after these lines; otherwise the last problem. */
const typed = (
  request: RequestedInput,
  lines: ReadonlyArray<string>,
  mode: ConstructorParameters<typeof AnswerDraft>[1] = "ask"
): InputAnswer | string | undefined => {
  const draft = new AnswerDraft(request, mode)
  let last: string | undefined
  for (const line of lines) {
    const step = draft.accept(line)
    if (step.kind === "done") return step.answer
    last = step.kind === "problem" ? step.message : undefined
  }
  return last
}

describe("AnswerDraft", () => {
  it("reads one option by its number", () => {
    assert.deepStrictEqual(typed(requestOf(colour), ["2"]), { answers: { colour: "blue" } })
    assert.strictEqual(typed(requestOf(colour), ["3"]), "There is no such option.")
    assert.strictEqual(typed(requestOf(colour), ["1,2"]), "Choose one option.")
    assert.strictEqual(typed(requestOf(colour), ["blue please"]), "Answer with the number of an option.")
    assert.strictEqual(typed(requestOf(colour), [""]), "Answer with the number of an option.")
  })

  it("reads several options, with a text of the person", () => {
    assert.deepStrictEqual(typed(requestOf(tools), ["1, 3"]), { answers: { tools: ["a", "c"] } })
    assert.deepStrictEqual(typed(requestOf(tools), ["2,4", "and docs"]), {
      answers: { tools: ["b", { other: "and docs" }] }
    })
    assert.strictEqual(typed(requestOf(tools), ["4", " "]), "Write your own answer.")
  })

  it("asks question after question", () => {
    const form = requestOf(colour, name, port, sure, token)
    assert.deepStrictEqual(typed(form, ["1", "Corral", "0", "", "y", "s3cret"]), {
      answers: { colour: "red", name: "Corral", sure: true, token: "s3cret" }
    })
    assert.strictEqual(typed(form, ["1", "Corral", "12.5"]), "Answer with a whole number.")
  })

  it("skips the whole request", () => {
    assert.deepStrictEqual(typed(requestOf(colour, name), ["1", "/skip"]), { decline: true })
  })

  it("approves a plan in a mode, or sends it back with a comment", () => {
    assert.deepStrictEqual(typed(plan, ["y"], "plan"), { approve: true, mode: "ask" })
    assert.deepStrictEqual(typed(plan, ["yes auto_edit"], "read_only"), { approve: true, mode: "auto_edit" })
    assert.deepStrictEqual(typed(plan, ["y"], "ask"), { approve: true })
    assert.deepStrictEqual(typed(plan, ["n Test it first"]), { approve: false, comment: "Test it first" })
    assert.include(String(typed(plan, ["y everything"], "plan")), "Modes: ")
    assert.include(String(typed(plan, ["maybe"])), "y to approve")
  })

  it("says that an address was opened", () => {
    assert.deepStrictEqual(typed(link, ["d"]), { answers: {} })
    assert.include(String(typed(link, ["https://example.com"])), "/skip")
  })

  it("never gives an answer without a line that is one", () => {
    const question = constantFrom(colour, tools, name, port, sure, token)
    const line = oneof(constantFrom("1", "2", "4", "1,2", "y", "n", "", "42", "text"), string())
    check(
      property(
        array(question, { minLength: 1, maxLength: 4 }),
        array(line, { maxLength: 12 }),
        (questions, lines) => {
          const distinct = [...new Set(questions)]
          const request = requestOf(...distinct)
          const answer = typed(request, lines)
          if (answer === undefined || typeof answer === "string" || "decline" in answer) return
          assert.isAtLeast(lines.length, distinct.length)
          assert.deepStrictEqual(answerIssues(request, answer), [])
        }
      )
    )
  })
})
