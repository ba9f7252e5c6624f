import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { ApprovalId } from "@corral/domain/identity/Ids"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Queue } from "effect"
import * as fc from "fast-check"
import { type TerminalAnswer, parseAnswer, askApproval, formatQuestion } from "../../src/run/ApprovalBlock.ts"
import { openPromptQueue } from "../../src/terminal/Prompts.ts"
import { Host } from "../../src/terminal/Host.ts"
import { testHost } from "../terminal/TestHost.ts"

const request: ApprovalRequest = {
  action: "write",
  risk: "low",
  title: "Write notes.txt",
  editable: false,
  scopes: ["once", "run"]
}
const onceOnly: ApprovalRequest = { ...request, scopes: ["once"] }
const first = ApprovalId.make("apr_01K00000000000000000000001")
const second = ApprovalId.make("apr_01K00000000000000000000002")

/** Fake terminal: output goes to a queue, typed lines go to the listeners. */
const terminal = Effect.gen(function* () {
  const written = yield* Queue.unbounded<string>()
  const listeners = new Set<(line: string) => void>()
  const host = testHost({
    terminal: true,
    live: true,
    columns: 80,
    interactive: true,
    colours: true,
    write: (text) => void Queue.offerUnsafe(written, text),
    onLine: (received) => {
      listeners.add(received)
      return () => void listeners.delete(received)
    }
  })
  const type = (line: string) => {
    for (const listener of listeners) listener(line)
  }
  return { host, written, type, listening: () => listeners.size }
})

/** `outcomes`: what becomes of the decisions, in order; then all are settled. */
const waitingWith = Effect.fnUntraced(function* (...outcomes: Array<"settled" | "open">) {
  const person = yield* terminal
  const decisions = yield* Queue.unbounded<readonly [ApprovalId, TerminalAnswer]>()
  const decide = (approvalId: ApprovalId, answer: TerminalAnswer) =>
    Effect.as(Queue.offer(decisions, [approvalId, answer] as const), outcomes.shift() ?? "settled")
  const queue = yield* openPromptQueue.pipe(Effect.provideService(Host, person.host))
  const ask = (approvalId: ApprovalId, approval: ApprovalRequest) =>
    askApproval(queue, person.host, approvalId, approval, (answer) => decide(approvalId, answer))
  return { ...person, ask, area: queue.area, settled: queue.withdraw, decisions }
})

const waiting = waitingWith()

describe("ApprovalPrompt", () => {
  it("accepts the answers that the approval offers", () => {
    const typed = ["y", " YES ", "a", "n", "c", "", "maybe"]
    assert.deepStrictEqual(
      typed.map((line) => parseAnswer(line, request)?.decision),
      ["allow", "allow", "allow", "deny", "cancel", undefined, undefined]
    )
    assert.deepStrictEqual(parseAnswer("always", request), { decision: "allow", scope: "run" })
    assert.isUndefined(parseAnswer("always", onceOnly))
    assert.notInclude(formatQuestion(onceOnly), "for this run")
  })

  it.effect("repeats a question until it is answered, one question at a time", () =>
    Effect.gen(function* () {
      const { ask, decisions, type, written } = yield* waiting
      yield* ask(first, request)
      yield* ask(second, onceOnly)
      assert.strictEqual(yield* Queue.take(written), formatQuestion(request))
      type("what?")
      assert.strictEqual(yield* Queue.take(written), formatQuestion(request))
      type("a")
      assert.deepStrictEqual(yield* Queue.take(decisions), [first, { decision: "allow", scope: "run" }])
      assert.strictEqual(yield* Queue.take(written), formatQuestion(onceOnly))
      type("n")
      assert.deepStrictEqual(yield* Queue.take(decisions), [second, { decision: "deny", scope: "once" }])
    })
  )

  it.effect("withdraws a question that was decided elsewhere", () =>
    Effect.gen(function* () {
      const { ask, decisions, settled, type, written } = yield* waiting
      yield* ask(first, request)
      yield* Queue.take(written)
      yield* settled(first)
      assert.strictEqual(yield* Queue.take(written), "\n")
      type("y")
      assert.strictEqual(yield* Queue.size(decisions), 0)
    })
  )

  it.effect("ignores text typed before the question", () =>
    Effect.gen(function* () {
      const { ask, decisions, listening, type, written } = yield* waiting
      assert.strictEqual(listening(), 1)
      type("y")
      yield* ask(first, request)
      yield* Queue.take(written)
      assert.strictEqual(yield* Queue.size(decisions), 0)
      type("n")
      assert.strictEqual((yield* Queue.take(decisions))[1].decision, "deny")
    })
  )

  it("asks again until a decision arrives", () =>
    fc.assert(
      fc.asyncProperty(fc.nat(5), fc.constantFrom("y", "a", "n", "c"), (losses, key) =>
        Effect.gen(function* () {
          const { ask, decisions, type, written } = yield* waitingWith(
            ...Array.from({ length: losses }, () => "open" as const)
          )
          yield* ask(first, request)
          for (let sent = 0; sent <= losses; sent++) {
            assert.strictEqual(yield* Queue.take(written), formatQuestion(request))
            type(key)
            assert.deepStrictEqual((yield* Queue.take(decisions))[1], parseAnswer(key, request))
          }
          yield* Effect.yieldNow
          assert.strictEqual(yield* Queue.size(written), 0)
        }).pipe(Effect.scoped, Effect.runPromise)
      )
    ))

  it.effect("starts other output on a new line, and shows the question again after it", () =>
    Effect.gen(function* () {
      const { area, ask, decisions, host, type, written } = yield* waiting
      area.around(() => host.write("before\n"))
      yield* ask(first, request)
      const question = formatQuestion(request)
      assert.deepStrictEqual(yield* Queue.takeN(written, 2), ["before\n", question])
      area.around(() => host.write("Connection lost. Reconnecting.\n"))
      const texts = yield* Queue.takeN(written, 3)
      assert.deepStrictEqual(texts, ["\n", "Connection lost. Reconnecting.\n", question])
      type("n")
      yield* Queue.take(decisions)
      area.around(() => host.write("after\n"))
      assert.strictEqual(yield* Queue.take(written), "after\n")
    })
  )
})
