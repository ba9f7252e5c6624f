import { draft } from "@corral/domain/run/RunEvent"
import type { RunMachineInput } from "@corral/domain/run/RunMachine"
import type { AdapterEvent } from "@corral/domain/run/RuntimeAdapter"
import { checkStepCosts } from "@corral/testing/recordings/CrowdedRun"
import { assert, describe, it } from "@effect/vitest"
import { ResultContents } from "../../src/artifact/ResultContents.ts"
import { RunRecorder } from "../../src/run/kernel/RunRecorder.ts"
import { approvalIdOf, at, created, later, request, runIdOf, runOf, messageInput } from "../Samples.ts"

const runId = runIdOf(1)
const approvalId = approvalIdOf(1)
const ask: RunMachineInput = { _tag: "ApprovalRequested", approvalId, request: request(), expiresAt: later }
const soon = "2026-01-01T00:00:01.000Z"

/** A recorder whose run was created, and anything more taken. */
const recorderAfter = (...inputs: ReadonlyArray<RunMachineInput>): RunRecorder => {
  const recorder = new RunRecorder(runOf(runId))
  for (const input of [created, ...inputs]) recorder.apply(input)
  const batch = recorder.take()
  if (batch !== undefined) recorder.committed(batch.run)
  recorder.at(soon)
  return recorder
}
const typesOf = (recorder: RunRecorder) =>
  recorder
    .take()
    ?.events.lines.split("\n")
    .map((line) => String(JSON.parse(line).type)) ?? []

const concluded = (text: string): ReadonlyArray<RunMachineInput> => [
  { _tag: "OutcomeReported", outcome: { _tag: "Completed", text } },
  { _tag: "Ended" }
]
const resultOf = (text: string) => {
  const recorder = recorderAfter(...concluded(text))
  return recorder.run.resultText ?? ""
}

describe("RunRecorder", () => {
  it("begins a run with its first event and its row", () => {
    const recorder = new RunRecorder(runOf(runId))
    recorder.apply(created)
    const batch = recorder.take()
    assert.deepInclude(batch?.events, { runId, firstSeq: 1, terminal: false })
    assert.deepStrictEqual(
      batch?.projections.map(([sql]) => sql.split(" ", 3).join(" ")),
      ["INSERT INTO runs"]
    )
    assert.deepInclude(batch?.run, { state: "created", lastSeq: 1 })
    assert.strictEqual(recorder.run.lastSeq, 0, "not shown yet")
  })

  it("has nothing to write where nothing happened", () => {
    assert.isUndefined(recorderAfter().take())
    const recorder = recorderAfter()
    recorder.apply({ _tag: "ApprovalExpired", approvalId })
    assert.isUndefined(recorder.take())
  })

  it("adds rows about the run to the transaction of its next events", () => {
    const recorder = recorderAfter()
    recorder.addResult(({ lastSeq, state }) => [["INSERT", state, lastSeq]])
    recorder.apply({ _tag: "EventEmitted", event: draft("run.started", {}) })
    const batch = recorder.take()
    assert.deepStrictEqual(batch?.projections.at(-1), ["INSERT", "running", 2])
    assert.isUndefined(recorder.take(), "once")
  })

  it("writes down that the run is starting, which no event tells", () => {
    const recorder = recorderAfter()
    recorder.apply({ _tag: "Spawned" })
    const batch = recorder.take()
    assert.strictEqual(batch?.events.count, 0)
    assert.deepStrictEqual(
      batch?.projections.map(([sql]) => sql.split(" ", 2).join(" ")),
      ["UPDATE runs"]
    )
    assert.deepInclude(batch?.run, { state: "starting", lastSeq: 1 })
    assert.isUndefined(recorder.take())
  })

  it("changes no row for text that only flows", () => {
    const recorder = recorderAfter(messageInput("a"))
    recorder.apply(messageInput("b"))
    const batch = recorder.take()
    assert.deepStrictEqual(batch?.projections, [])
    assert.deepInclude(batch?.run, { lastSeq: 4, updatedAt: soon })
  })

  it("writes an approval's row with its question and again with its answer", () => {
    const recorder = recorderAfter(messageInput("a"))
    recorder.apply(ask)
    const requested = recorder.take()
    assert.deepInclude(requested?.run, { state: "waiting_approval", pendingApprovals: [approvalId] })
    assert.deepStrictEqual(
      requested?.projections.map(([sql]) => sql.split(" ", 3).slice(0, 2).join(" ")),
      ["INSERT INTO", "UPDATE runs"]
    )
    const answer = { decision: "allow", scope: "run" } as const
    const actions = recorder.apply({ _tag: "ApprovalDecided", approvalId, answer, by: "one" })
    assert.deepStrictEqual(actions, [{ _tag: "Answer", approvalId, answer }])
    const decided = recorder.take()
    const [, state, row] = decided?.projections[0] ?? []
    assert.strictEqual(state, "approved")
    assert.deepStrictEqual(JSON.parse(String(row)), {
      id: approvalId,
      runId,
      agentId: "scripted",
      workspace: "api",
      state: "approved",
      request: request(),
      requestedAt: soon,
      expiresAt: later,
      resolvedAt: soon,
      decision: "allow",
      edited: false,
      scope: "run",
      decidedBy: "one"
    })
  })

  it("says which batch is the last", () => {
    const recorder = recorderAfter()
    recorder.apply({ _tag: "CancelRequested", reason: "enough", by: "one" })
    assert.isUndefined(recorder.take())
    recorder.apply({ _tag: "Ended" })
    const batch = recorder.take()
    assert.isTrue(batch?.events.terminal)
    assert.deepInclude(batch?.run, { state: "cancelled", endedAt: soon })
  })

  it("gives what is to be done besides writing", () => {
    const recorder = recorderAfter()
    assert.deepStrictEqual(recorder.apply({ _tag: "CancelRequested" }), [{ _tag: "Stop" }])
    assert.deepStrictEqual(recorder.apply(messageInput("late")), [])
  })

  it("continues after the last seq of an existing log", () => {
    const before = recorderAfter(ask)
    const recorder = RunRecorder.recovered(
      before.run,
      before.state,
      { approvals: [], inputs: [] },
      new ResultContents()
    )
    recorder.at(later)
    recorder.apply({ _tag: "Ended" })
    const batch = recorder.take()
    assert.strictEqual(batch?.events.firstSeq, before.run.lastSeq + 1)
    assert.deepInclude(batch?.run, { state: "failed", endedAt: later, createdAt: at })
  })

  it("splits what is too long into events of their own seq", () => {
    const recorder = recorderAfter(messageInput("a"))
    recorder.apply(messageInput("x".repeat(400_000)))
    recorder.apply(messageInput("after"))
    const lines = recorder.take()?.events.lines.split("\n") ?? []
    const events = lines.map((line) => JSON.parse(line))
    assert.deepStrictEqual(
      events.map(({ seq }) => seq),
      events.map((_, i) => 4 + i)
    )
    assert.strictEqual(events.map(({ payload }) => payload.text).join(""), `${"x".repeat(400_000)}after`)
    assert.strictEqual(recorder.run.lastSeq, 3)
  })

  it("ends the log with a terminal event, however long the reason for it", () => {
    const reason = "x".repeat(400_000)
    const recorder = recorderAfter()
    recorder.apply({ _tag: "OutcomeReported", outcome: { _tag: "Cancelled", reason } })
    recorder.apply({ _tag: "Ended" })
    assert.deepStrictEqual(typesOf(recorder), ["run.cancelled"])
  })

  it("resolves an approval in the log, however long the reason for it", () => {
    const recorder = recorderAfter(messageInput("a"), ask)
    recorder.apply({ _tag: "ApprovalWithdrawn", approvalId, reason: "x".repeat(400_000) })
    assert.deepStrictEqual(typesOf(recorder), ["run.approval.resolved"])
  })

  it("starts a run in the log, however long its session's name", () => {
    const recorder = recorderAfter()
    recorder.apply({
      _tag: "EventEmitted",
      event: draft("run.started", { runtimeSessionId: "x".repeat(400_000) })
    })
    assert.deepStrictEqual(typesOf(recorder), ["run.started"])
  })

  it("shows the final text up to 64 KiB, and tears no character", () => {
    assert.strictEqual(resultOf("short"), "short")
    assert.strictEqual(resultOf("x".repeat(100_000)), "x".repeat(65_536))
    assert.isTrue(resultOf(`x${"🐎".repeat(50_000)}`).isWellFormed(), "no half of a pair")
    assert.isAtMost(Buffer.byteLength(resultOf("字".repeat(50_000))), 65_536)
  })
})

describe("a crowded run", () => {
  it("records an event of any type with the same number of operations however much is open", () => {
    checkStepCosts(() => {
      const recorder = new RunRecorder(runOf(runId))
      return (event) => {
        // The machine appends any event that can follow.
        recorder.apply({ _tag: "EventEmitted", event: event as AdapterEvent })
      }
    })
  })
})
