/** The state of an agent in generated situations: it never says less than what a person must know. */
import { assert, describe, it } from "@effect/vitest"
import type { Target } from "@corral/domain/device/Device"
import type { Message } from "@corral/domain/session/Message"
import * as fc from "fast-check"
import { type Absence, absenceOf, agentStatus, workOfAgent } from "../../src/session/agentWork.ts"
import type { ThreadStatus } from "../../src/thread/ThreadState.tsx"
import { entriesOf, isQueued } from "../../src/thread/Turns.ts"

const liveStates: ReadonlyArray<ThreadStatus> = [
  "working",
  "background",
  "paused",
  "waiting",
  "others",
  "queued"
]
const situations = fc.record({
  live: fc.constantFrom(undefined, ...liveStates),
  absence: fc.constantFrom<Absence | undefined>(undefined, "device", "workspace", "program"),
  isOffline: fc.boolean(),
  isHeld: fc.boolean(),
  queued: fc.nat(3)
})

const needs = { targetId: "dev_1", workspace: "shop", agentId: "claude" } as never
const offers = fc.record({
  isThere: fc.boolean(),
  isOnline: fc.boolean(),
  workspace: fc.constantFrom("none", "unavailable", "available"),
  program: fc.constantFrom("none", "unavailable", "available"),
  nextCursor: fc.constantFrom(null, "more")
})
const offered = (id: string, state: string) =>
  state === "none" ? [] : [{ id, available: state === "available" }]

/** Messages of two agents in any order: sent, received by a run, answered, continued after, or notes. */
const messages = fc.array(
  fc.record({
    to: fc.constantFrom("agi_1", "agi_2"),
    kind: fc.constantFrom("note", "pending", "failed", "delivered", "answer", "text"),
    run: fc.nat(3)
  }),
  { maxLength: 20 }
)
const messageOf = (
  { kind, run, to }: { readonly to: string; readonly kind: string; readonly run: number },
  nth: number
): Message => {
  const runId = `run_${to}_${run}`
  const agent = { kind: "agent", agentInstanceId: to }
  const byKind: Readonly<Record<string, object>> = {
    note: { author: { kind: "user" } },
    pending: { author: { kind: "user" }, to, delivery: { state: "pending" } },
    failed: { author: { kind: "user" }, to, delivery: { state: "failed" } },
    delivered: { author: { kind: "user" }, to, delivery: { state: "delivered", runId } },
    answer: { author: agent, runId, outcome: "completed" },
    text: { author: agent, runId, turn: 1 }
  }
  return { id: `msg_${nth}`, text: "text", ...byKind[kind] } as unknown as Message
}

describe("agentWork", () => {
  it("hides no request, no missing device, no held and no waiting message behind a weaker state", () => {
    fc.assert(
      fc.property(situations, (situation) => {
        const status = agentStatus(situation)
        const { absence, isHeld, isOffline, live, queued } = situation
        if (absence === "device") return assert.strictEqual(status, "gone")
        if (live === "waiting" || live === "others") return assert.strictEqual(status, live)
        if (live !== undefined)
          return assert.strictEqual(status, isOffline && live !== "queued" ? "offline" : live)
        if (absence !== undefined) return assert.strictEqual(status, "gone")
        if (isHeld) return assert.strictEqual(status, "held")
        assert.strictEqual(status === "idle", !isOffline && queued === 0)
      })
    )
  })

  it("names what an online device no longer offers, and nothing of a device that can't be heard", () => {
    fc.assert(
      fc.property(offers, ({ isOnline, isThere, nextCursor, program, workspace }) => {
        const target = {
          id: "dev_1",
          state: isOnline ? "online" : "offline",
          workspaces: offered("shop", workspace),
          agents: offered("claude", program)
        } as unknown as Target
        const absence = absenceOf(needs, { items: isThere ? [target] : [], nextCursor })
        if (!isThere) return assert.strictEqual(absence, nextCursor === null ? "device" : undefined)
        if (!isOnline) return assert.strictEqual(absence, undefined)
        if (workspace !== "available") return assert.strictEqual(absence, "workspace")
        assert.strictEqual(absence, program === "available" ? undefined : "program")
      })
    )
    assert.strictEqual(absenceOf(needs, undefined), undefined)
  })

  it("gives each turn and each waiting message to its agent alone", () => {
    fc.assert(
      fc.property(messages, (drafts) => {
        const all = drafts.map(messageOf)
        const sources = { entries: entriesOf(all), queue: all.filter(isQueued), runs: new Map() }
        for (const id of ["agi_1", "agi_2"]) {
          const { queued, turn } = workOfAgent(id as never, sources)
          const isOfAgent = (each: { readonly to: string }) => each.to === id
          assert.strictEqual(
            queued,
            drafts.filter((each) => isOfAgent(each) && each.kind === "pending").length
          )
          const runs = drafts.filter(
            (each) => isOfAgent(each) && ["delivered", "answer", "text"].includes(each.kind)
          )
          const open = runs.filter(
            ({ run }) => !runs.some((each) => each.run === run && each.kind === "answer")
          )
          const expected = open.length > 0 ? open : runs
          assert.strictEqual(turn === undefined, expected.length === 0)
          if (turn !== undefined)
            assert.include(
              expected.map(({ run }) => `run_${id}_${run}`),
              turn.runId
            )
        }
      })
    )
  })
})
