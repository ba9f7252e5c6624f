/** Entries of a thread: each message that belongs there once, in order. */
import { assert, describe, it } from "@effect/vitest"
import type { GroupCandidate } from "@corral/domain/hub-api/TaskGroups"
import type { Message } from "@corral/domain/session/Message"
import * as fc from "fast-check"
import {
  endedTurn,
  entriesOf,
  isQueued,
  type ThreadEntry,
  turnOfCandidate,
  turnsIn
} from "../../src/thread/Turns.ts"

const runId = fc.constantFrom("run_1", "run_2", "run_3")
const delivery = fc.option(
  fc.record({ state: fc.constantFrom("pending", "delivered", "failed", "withdrawn"), runId }),
  { nil: undefined }
)

const messages: fc.Arbitrary<ReadonlyArray<Message>> = fc
  .array(fc.record({ kind: fc.constantFrom("user", "turn", "answer"), runId, delivery }), { maxLength: 20 })
  .map((all) => {
    const answered = new Set<string>()
    return all.flatMap((of, nth): ReadonlyArray<object> => {
      const base = { id: `msg_${nth}`, sessionId: "ses_1", text: "x", version: nth, createdAt: "2026-01-01" }
      if (of.kind === "user")
        return [
          {
            ...base,
            author: { kind: "user", userId: "usr_1" },
            ...(of.delivery === undefined ? {} : { delivery: of.delivery })
          }
        ]
      const ofAgent = { ...base, author: { kind: "agent", agentInstanceId: "agt_1" }, runId: of.runId }
      if (of.kind === "turn") return [{ ...ofAgent, turn: nth + 1, outstanding: 1 }]
      // A run has one answer.
      if (answered.has(of.runId)) return []
      answered.add(of.runId)
      return [{ ...ofAgent, outcome: "completed" }]
    })
  })
  // Ids of the domain are branded text.
  .map((all) => all as unknown as ReadonlyArray<Message>)

const messagesOf = (entry: ThreadEntry): ReadonlyArray<Message> => {
  if (entry.kind === "note") return [entry.message]
  if (entry.kind === "group") return entry.turns.flatMap(messagesOf)
  return [...entry.prompts, ...entry.texts, ...(entry.answer === undefined ? [] : [entry.answer])]
}

describe("entriesOf", () => {
  it("contains each message once, but those that wait, failed or were withdrawn", () => {
    fc.assert(
      fc.property(messages, (all) => {
        const shown = entriesOf(all).flatMap(messagesOf)
        const expected = all.filter(
          (message) => !isQueued(message) && message.delivery?.state !== "withdrawn"
        )
        assert.sameMembers([...shown], expected)
        assert.lengthOf(shown, expected.length)
      })
    )
  })

  it("keeps the order of the first message of each entry, and has one turn for each run", () => {
    fc.assert(
      fc.property(messages, (all) => {
        const entries = entriesOf(all)
        const places = entries.map((entry) => Math.min(...messagesOf(entry).map((each) => all.indexOf(each))))
        assert.deepStrictEqual(
          places,
          places.toSorted((a, b) => a - b)
        )
        const keys = entries.map(({ key }) => key)
        assert.strictEqual(new Set(keys).size, keys.length)
      })
    )
  })

  it("has an answer for each run that said something, once the run has ended", () => {
    fc.assert(
      fc.property(messages, (all) => {
        for (const entry of turnsIn(entriesOf(all))) {
          const agentTexts = [...entry.texts, ...(entry.answer === undefined ? [] : [entry.answer])]
          assert.strictEqual(endedTurn(entry).answer, entry.answer ?? agentTexts.at(-1))
        }
      })
    )
  })

  it("has one entry for the messages of a group, with the turn of each candidate that has started", () => {
    const prompt = (to: string, delivery: object) => ({
      id: `msg ${to}`,
      author: { kind: "user", userId: "usr_1" },
      groupId: "tgr_1",
      text: "Do it.",
      to,
      delivery
    })
    const answer = (runId: string, agentInstanceId: string) => ({
      id: `answer ${runId}`,
      author: { kind: "agent", agentInstanceId },
      runId,
      outcome: "completed"
    })
    const all = [
      prompt("a", { state: "delivered", runId: "run_a" }),
      prompt("b", { state: "pending" }),
      prompt("c", { state: "delivered", runId: "run_c" }),
      answer("run_c", "c"),
      answer("run_a", "a")
    ] as unknown as ReadonlyArray<Message>
    const [entry, ...others] = entriesOf(all)
    assert.lengthOf(others, 0)
    if (entry?.kind !== "group") return assert.fail("the entry is a group")
    assert.deepStrictEqual<unknown>(
      turnsIn(entriesOf(all)).map(({ answer: text, runId }) => [runId, text?.id]),
      [
        ["run_a", "answer run_a"],
        ["run_c", "answer run_c"]
      ]
    )
    assert.deepStrictEqual<unknown>(
      [
        { agentInstanceId: "c", task: {} },
        // In a fork, agents have other ids.
        { agentInstanceId: "a before the fork", task: { runId: "run_a" } },
        { agentInstanceId: "b", task: {} }
      ].map((candidate) => turnOfCandidate(entry, candidate as unknown as GroupCandidate)?.runId),
      ["run_c", "run_a", undefined]
    )
  })
})
