import { assert, describe, it } from "@effect/vitest"
import type { MessageDelivery, MessageTime } from "@corral/domain/session/Message"
import type { RunEvent } from "@corral/domain/run/RunEvent"
import type { TaskState } from "@corral/domain/task/Task"
import { checkStepCosts } from "@corral/testing/recordings/CrowdedRun"
import { phaseTitle, runCard } from "../../src/following/RunCard.ts"
import {
  hasCard,
  hasTaskEnded,
  inputProgress,
  progressAfter,
  progressBeforeRun,
  startingProgress,
  type TaskProgress
} from "../../src/following/TaskProgress.ts"

const error = { code: "target_offline", message: "offline" } as const

const cases: ReadonlyArray<
  readonly [
    phase: string,
    delivery: MessageDelivery | undefined,
    when: MessageTime,
    task: TaskState | undefined,
    ended: boolean
  ]
> = [
  ["turn", { state: "pending" }, "next", undefined, false],
  ["starting", { state: "pending" }, "next", "pending", false],
  ["starting", { state: "pending" }, "next", "dispatched", false],
  ["queued", { state: "pending" }, "next", "queued", false],
  ["failed", { state: "failed", error }, "next", undefined, true],
  ["cancelled", { state: "withdrawn" }, "next", undefined, true],
  ["sending", { state: "pending" }, "now", undefined, false],
  ["sent", { state: "delivered" }, "now", undefined, true],
  ["failed", { state: "failed", error }, "now", undefined, true],
  // A note, which no agent receives.
  ["lost", undefined, "next", undefined, true]
]

describe("the progress of a message without a run", () => {
  it.each(cases)("is %s for %o, %s, with a task that is %s", (phase, delivery, when, state, ended) => {
    const before = when === "now" ? inputProgress : startingProgress
    const message = { when, ...(delivery === undefined ? {} : { delivery }) }
    const after = progressBeforeRun(before, message, state === undefined ? undefined : { state })
    assert.strictEqual(after.phase, phase)
    assert.strictEqual(hasTaskEnded(after), ended)
    assert.strictEqual(hasCard(after), phase !== "sending" && phase !== "sent")
    assert.notStrictEqual(phaseTitle(after).en, phaseTitle(after).zh)
  })

  it("is the same object while nothing changes, so that no card is drawn", () => {
    const pending = { when: "next", delivery: { state: "pending" } } as const
    const turn = progressBeforeRun(startingProgress, pending, undefined)
    assert.strictEqual(progressBeforeRun(turn, pending, undefined), turn)
  })

  it("says on the card that the agent received the conversation as a text", () => {
    const card = (transcript: boolean) =>
      runCard({ place: "Atlas", progress: { ...startingProgress, transcript }, url: "https://hub" }).lines
    assert.lengthOf(card(true), card(false).length + 1)
    assert.match(card(true).at(-1)?.en ?? "", /^The agent doesn't remember the earlier messages\./)
  })

  it("says on the card that the run is paused, unless it needs a decision", () => {
    const titleOf = (phase: TaskProgress["phase"]) =>
      phaseTitle({ ...startingProgress, phase, paused: true }).en
    assert.strictEqual(titleOf("working"), "Paused")
    assert.strictEqual(titleOf("waiting"), "Needs your decision")
    assert.strictEqual(titleOf("cancelled"), "Cancelled")
  })

  it.each([
    ["command_missing", /missing on the machine/],
    ["bad_credentials", /not signed in on the machine/],
    ["edge_restarted", /restarted during the run/],
    ["rate_limited", /did not complete the run/],
    [undefined, /did not complete the run/]
  ] as const)("names the cause of an unavailable runtime by its reason, %s", (reason, cause) => {
    const unavailable = { code: "runtime_unavailable", message: "…", details: { reason } }
    const failed = { when: "next", delivery: { state: "failed", error: unavailable } } as const
    const progress = progressBeforeRun(startingProgress, failed, undefined)
    const [, line] = runCard({ place: "Atlas", progress, url: "https://hub" }).lines
    assert.match(line?.en ?? "", cause)
  })

  it.each([
    ["budget_exceeded", "The run used up its budget.", "已用完此次运行的预算。"],
    ["run_timeout", "The run exceeded its time limit.", "超出了允许的时间。"]
  ])("names the limit that ended a run, %s", (code, en, zh) => {
    const failed = { when: "next", delivery: { state: "failed", error: { code, message: "…" } } } as const
    const progress = progressBeforeRun(startingProgress, failed, undefined)
    assert.deepStrictEqual(runCard({ place: "Atlas", progress, url: "https://hub" }).lines[1], { en, zh })
  })

  it.each(["limit_used_up", "limit_too_small"])(
    "names no budget where the limit of a day refused the start, %s",
    (reason) => {
      const refused = { code: "budget_exceeded", message: "…", details: { reason } } as const
      const failed = { when: "next", delivery: { state: "failed", error: refused } } as const
      const progress = progressBeforeRun(startingProgress, failed, undefined)
      assert.deepStrictEqual(runCard({ place: "Atlas", progress, url: "https://hub" }).lines[1], {
        en: "The limit for today does not allow another run.",
        zh: "今天的限额不足以再运行一次。"
      })
    }
  )

  it("keeps waiting when a run that is asked says only then that it has started", () => {
    const progress = progressAfter({ ...startingProgress, phase: "waiting", waiting: 1 }, {
      id: "evt_01KAH2T3J0Q4W8XN5M00000002",
      seq: 2,
      type: "run.started",
      runId: "run_01KAH2T3J0Q4W8XN5M7C1B9D6A",
      agentId: "codex",
      createdAt: "2026-01-01T00:00:00.000Z",
      payload: { v: 1 }
    } as RunEvent)
    assert.strictEqual(progress.phase, "waiting")
  })

  it("says that changes are unknown instead of counting them", () => {
    const counted = { ...startingProgress, phase: "completed", changes: 2 } as const
    const progress = progressAfter(counted, {
      id: "evt_01KAH2T3J0Q4W8XN5M00000002",
      seq: 2,
      type: "run.changes.unknown",
      runId: "run_01KAH2T3J0Q4W8XN5M7C1B9D6A",
      agentId: "codex",
      createdAt: "2026-01-01T00:00:00.000Z",
      payload: { v: 1, reason: "too_large" }
    } as RunEvent)
    const [, line] = runCard({ place: "Atlas", progress, url: "https://hub" }).lines
    assert.deepStrictEqual(line, { en: "changes unknown", zh: "更改未知" })
  })

  it("says on the card how many files wait for a decision", () => {
    const linesOf = (undecided: number) =>
      runCard({ place: "Atlas", progress: { ...startingProgress, undecided }, url: "https://hub" }).lines
    assert.lengthOf(linesOf(0), 1)
    assert.deepStrictEqual(linesOf(1)[1], {
      en: "1 changed file waits for a decision in Corral",
      zh: "1 个文件的更改等待在 Corral 中决定"
    })
    assert.strictEqual(linesOf(2)[1]?.en, "2 changed files wait for a decision in Corral")
  })

  it("keeps the reason of a message that failed", () => {
    const failed = { when: "next", delivery: { state: "failed", error } } as const
    assert.strictEqual(progressBeforeRun(startingProgress, failed, undefined).code, "target_offline")
  })
})

describe("the progress of a run that asks and works in the background", () => {
  const after = (...events: ReadonlyArray<readonly [type: RunEvent["type"], payload?: object]>) =>
    events.reduce<TaskProgress>(
      (progress, [type, payload = {}]) =>
        // Only what a card reads is there.
        progressAfter(progress, {
          type,
          payload,
          createdAt: "2026-01-01T00:00:00.000Z"
        } as unknown as RunEvent),
      startingProgress
    )
  const card = (progress: TaskProgress) =>
    runCard({ place: "Atlas", progress, url: "https://hub", finish: "f" })
  const work = [["run.started"], ["run.work.started"], ["run.work.started"]] as const

  it("needs an answer while a question is open, and a decision before that", () => {
    const waiting = after(["run.started"], ["run.input.requested"])
    assert.strictEqual(phaseTitle(waiting).en, "Needs your answer")
    const both = after(["run.started"], ["run.input.requested"], ["run.approval.requested"])
    assert.strictEqual(phaseTitle(both).en, "Needs your decision")
    assert.strictEqual(
      after(["run.started"], ["run.input.requested"], ["run.input.resolved"]).phase,
      "working"
    )
  })

  it("works in the background after its turn, with a way to finish", () => {
    const { buttons, lines, title } = card(after(...work, ["run.turn.ended", { outstanding: 2 }]))
    assert.strictEqual(title.en, "Working in the background")
    assert.include(
      lines.map(({ en }) => en),
      "Working in the background: 2"
    )
    assert.include(
      buttons.map(({ label }) => label.en),
      "Finish"
    )
  })

  it("has no way to finish during a turn, or without work", () => {
    const ended = ["run.turn.ended", { outstanding: 1 }] as const
    for (const progress of [
      after(...work),
      after(...work, ended, ["run.turn.started"]),
      after(...work, ended, ["run.work.ended"]),
      after(...work, ended, ["run.completed"])
    ])
      assert.notInclude(
        card(progress).buttons.map(({ label }) => label.en),
        "Finish"
      )
  })
})

describe("a crowded run", () => {
  it("follows an event of any type with the same number of operations however much is open", () => {
    checkStepCosts(() => {
      let progress = startingProgress
      return ({ payload, type }) => {
        // The fields of the envelope that cards read.
        progress = progressAfter(progress, {
          type,
          payload,
          createdAt: "2026-01-01T00:00:00.000Z"
        } as RunEvent)
      }
    })
  })
})
