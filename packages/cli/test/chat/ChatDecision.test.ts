import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { assert, describe, it } from "@effect/vitest"
import { decisionQuestion, inputDraft, parseDecision } from "../../src/chat/ChatAnswers.ts"

const request: ApprovalRequest = {
  action: "shell",
  risk: "high",
  title: "Run rm",
  editable: true,
  scopes: ["once", "run"],
  input: { command: "rm -r build", cwd: "." }
}

describe("parseDecision", () => {
  it("accepts only lines that are an answer", () => {
    const once = { kind: "decide", decision: { decision: "allow", scope: "once" } }
    assert.deepStrictEqual(parseDecision("y", request) as unknown, once)
    assert.deepStrictEqual(parseDecision(" Yes ", request) as unknown, once)
    assert.deepStrictEqual(parseDecision("n put it in src", request) as unknown, {
      kind: "decide",
      decision: { decision: "deny", reason: "put it in src" }
    })
    for (const message of ["you should not", "next, run the tests", "already done", "escape it", "allow", ""])
      assert.isUndefined(parseDecision(message, request), message)
  })

  it("explains answers that this approval does not accept", () => {
    const once: ApprovalRequest = { ...request, editable: false, scopes: ["once"] }
    assert.strictEqual(parseDecision("a", once)?.kind, "invalid")
    assert.strictEqual(parseDecision("e", once)?.kind, "invalid")
    assert.strictEqual(decisionQuestion(once, 1), "Allow? y yes · n [reason] no")
    assert.strictEqual(
      decisionQuestion(request, 3),
      "Allow? (1 of 3) y yes · a allow for this run · n [reason] no · e edit"
    )
  })
})

describe("inputDraft", () => {
  it("edits the command, or the whole input as JSON", () => {
    const draft = inputDraft(request)
    assert.strictEqual(draft?.text, "rm -r build")
    assert.deepStrictEqual(draft?.read("ls") as unknown, { input: { command: "ls", cwd: "." } })
    const other = inputDraft({ ...request, input: { path: "a" } })
    assert.strictEqual(other?.text, '{"path":"a"}')
    assert.deepStrictEqual(other?.read('{"path":"b"}') as unknown, { input: { path: "b" } })
    assert.property(other?.read("[1]"), "problem")
    assert.property(other?.read("{"), "problem")
    assert.isUndefined(inputDraft({ ...request, input: "text" }))
  })
})
