import type { Question, RequestedInput } from "@corral/domain/input/InputRequest"
import { assert, describe, it } from "@effect/vitest"
import { openInputCard, resolvedInputCard, waysToAnswer } from "../../src/following/InputCard.ts"
import type { Card } from "../../src/platform/ChatPlatform.ts"

const colour: Question = {
  id: "colour",
  text: "Which colour?",
  kind: "choice",
  allowsOther: true,
  options: [
    { id: "r", label: "Red", description: "warm" },
    { id: "b", label: "Blue" }
  ]
}
const token: Question = { id: "token", text: "Token?", kind: "text", secret: true }
const requestOf = (...questions: ReadonlyArray<Question>): RequestedInput => ({
  kind: "question",
  title: "Question",
  questions
})

const input = (request: RequestedInput | undefined, kind: RequestedInput["kind"] = "question") => ({
  kind,
  language: "en" as const,
  place: "Atlas",
  url: "https://hub.example/sessions/1",
  request
})
const open = (request: RequestedInput | undefined, kind?: RequestedInput["kind"]): Card =>
  openInputCard(input(request, kind), (how) => JSON.stringify(how))

const labels = ({ buttons }: Card) => buttons.map(({ label }) => label.en)
const lines = (card: Card) => card.lines.map(({ en }) => en)

describe("the card of a question", () => {
  it("has one button for each option, none of them emphasized", () => {
    const card = open(requestOf(colour))
    assert.deepStrictEqual(labels(card), ["Red", "Blue", "Skip", "Open in Corral"])
    assert.isTrue(card.buttons.every((button) => button._tag === "Link" || button.style === "plain"))
    assert.include(lines(card), "• Red – warm")
    assert.include(lines(card), "You can also reply here in your own words.")
    assert.isUndefined(card.fields)
  })

  it("has fields for several options, several questions and texts", () => {
    const card = open(requestOf({ ...colour, multiple: true }, { id: "n", text: "Name?", kind: "text" }))
    assert.deepStrictEqual(
      card.fields?.map(({ _tag, name }) => [_tag, name]),
      [
        ["Select", "q0"],
        ["Text", "q0-other"],
        ["Text", "q1"]
      ]
    )
    assert.deepStrictEqual(labels(card), ["Send answer", "Skip", "Open in Corral"])
  })

  it("has a comment and two decisions for a plan", () => {
    const card = open(
      { kind: "plan", title: "Plan", plan: "1. Read /srv/code/shop\n```\nrm -rf build\n```" },
      "plan"
    )
    assert.deepStrictEqual(labels(card), ["Approve", "Send back", "Open in Corral"])
    assert.deepStrictEqual(
      card.fields?.map(({ name }) => name),
      ["comment"]
    )
    assert.notInclude(JSON.stringify(card), "rm -rf")
    assert.notInclude(JSON.stringify(card), "/srv/code")
  })

  it("has a link only for a secret, an address, and a text that the chat does not show", () => {
    const address: RequestedInput = { kind: "link", title: "Sign in", url: "https://evil.example/a" }
    for (const card of [open(requestOf(colour, token)), open(address, "link"), open(undefined)]) {
      assert.deepStrictEqual(labels(card), ["Open in Corral"])
      assert.isUndefined(card.fields)
      assert.include(lines(card), "Answer it in Corral.")
      assert.notInclude(JSON.stringify(card), "evil.example")
    }
    assert.deepStrictEqual(waysToAnswer(requestOf(token)), [])
    assert.notInclude(JSON.stringify(open(undefined)), "Which colour?")
  })

  it("says who answered, and has no way to answer again", () => {
    const card = resolvedInputCard(
      input(requestOf(colour)),
      { state: "answered", by: "usr_1", origin: "console" },
      "Ada"
    )
    assert.deepStrictEqual(labels(card), ["Open in Corral"])
    assert.include(lines(card), "Answered by Ada")
    assert.include(lines(card), "in the console")
    assert.include(
      lines(resolvedInputCard(input(undefined), { state: "self_answered" }, undefined)),
      "The agent continued without an answer"
    )
    const plan = resolvedInputCard(input(undefined, "plan"), { state: "answered", approved: false }, "Ada")
    assert.include(lines(plan), "Sent back by Ada")
    assert.strictEqual(plan.tone, "neutral")
  })
})
