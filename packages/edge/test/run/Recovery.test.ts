import type { InputRequestId } from "@corral/domain/identity/Ids"
import type { RunMachineInput } from "@corral/domain/run/RunMachine"
import { fold, initial } from "@corral/domain/run/RunState"
import type { Run } from "@corral/domain/run/Run"
import { isTerminal, isTerminalType } from "@corral/domain/run/RunEnd"
import { draft, type EventDraft } from "@corral/domain/run/RunEvent"
import { assert, layer } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { findInput, pageOfApprovals } from "../../src/store/EdgeRequestRows.ts"
import { EDGE_MARK } from "../../src/process/ProcessSweep.ts"
import { EdgeEventLog } from "../../src/log/EdgeEventLog.ts"
import { recover } from "../../src/run/recovery/Recovery.ts"
import { RunRecorder } from "../../src/run/kernel/RunRecorder.ts"
import { findRun, unfinishedRuns } from "../../src/log/Runs.ts"
import { Store } from "../../src/store/Store.ts"
import { anyTurns } from "./RunInputs.ts"
import { approvalIdOf, created, later, newRunId, request, runOf, messageInput } from "../Samples.ts"
import { memoryLogLayer } from "../Stored.ts"
import { tries } from "@corral/testing/time/Effort"

/** Writes a run as an Edge would that died after `turns` commits. */
const writeRun = Effect.fnUntraced(function* (turns: ReadonlyArray<ReadonlyArray<RunMachineInput>>) {
  const log = yield* EdgeEventLog
  const runId = newRunId()
  const recorder = new RunRecorder(runOf(runId))
  for (const inputs of [[created], ...turns]) {
    for (const input of inputs) recorder.apply(input)
    const batch = recorder.take()
    if (batch === undefined) continue
    yield* log.append(batch.events, batch.projections)
    recorder.committed(batch.run)
  }
  return recorder.run
})

const restart = Effect.gen(function* () {
  const { edgeId } = yield* recover(yield* Store, yield* EdgeEventLog)
  return edgeId
})

const logOf = Effect.fnUntraced(function* ({ id }: Run) {
  const log = yield* EdgeEventLog
  const lines = log.read(id, 0, 100_000_000).flatMap((batch) => batch.lines.split("\n"))
  return lines.map((line) => JSON.parse(line) as EventDraft & { readonly seq: number })
})

layer(memoryLogLayer, { excludeTestServices: true })("recover", (it) => {
  it.effect("gives the same id at every start of the same store", () =>
    Effect.gen(function* () {
      const id = yield* restart
      assert.match(id, /^edge_/)
      assert.strictEqual(yield* restart, id)
      const store = yield* Store
      assert.deepStrictEqual(store.get("SELECT count(*) AS edges FROM edge"), { edges: 1 })
    })
  )

  it.effect("ends what its predecessor left: approvals, then calls, then the run", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const approvalId = approvalIdOf(900)
      const call = draft("run.tool.call", { callId: "c", tool: "Bash", label: "Run ls", status: "started" })
      const run = yield* writeRun([
        [{ _tag: "Spawned" }, messageInput("a"), { _tag: "EventEmitted", event: call }],
        [{ _tag: "ApprovalRequested", approvalId, request: request(), expiresAt: later }]
      ])
      yield* restart
      const events = yield* logOf(run)
      assert.deepStrictEqual(
        events.map(({ type }) => type),
        [
          "run.created",
          "run.started",
          "run.message.delta",
          "run.tool.call",
          "run.approval.requested",
          "run.approval.resolved",
          "run.changes.unknown",
          "run.tool.result",
          "run.failed"
        ]
      )
      const error = {
        code: "runtime_unavailable",
        message: "The Edge ended while the run was under way.",
        details: { reason: "edge_restarted" }
      }
      assert.deepStrictEqual(events.at(-1)?.payload, { v: 1, error } as never) // the version is the log's
      const row = findRun(store, run.id)
      assert.deepInclude(row, { state: "failed", error, pendingApprovals: [], lastSeq: events.length })
      assert.deepStrictEqual(row?.changesUnknown, { reason: "interrupted" })
      assert.strictEqual(row?.createdAt, run.createdAt)
      assert.isDefined(row?.endedAt)
      const [approval] = pageOfApprovals(store, { runId: run.id, limit: 10 })
      assert.deepInclude(approval, { id: approvalId, state: "cancelled" })
      assert.notInclude(approval?.reason ?? "", "turn", "the runtime did not end its turn: its Edge ended")
    })
  )

  it.effect("books what a run had used that its predecessor lost", () =>
    Effect.gen(function* () {
      const [logged, later] = [
        { outputTokens: 5 },
        { outputTokens: 9, costUsd: 0.25, costSource: "program" }
      ] as const
      const run = yield* writeRun([
        [{ _tag: "EventEmitted", event: draft("run.usage.updated", { usage: logged }) }],
        [{ _tag: "UsageReported", usage: later }, messageInput("a")]
      ])
      yield* restart
      const last = (yield* logOf(run)).at(-1)
      assert.strictEqual(last?.type, "run.failed")
      assert.deepInclude(last?.payload, { usage: later })
      assert.deepStrictEqual(findRun(yield* Store, run.id)?.usage, later)
    })
  )

  it.effect("closes the questions of its predecessor, and does not complete a run whose work it cut", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const inputId = `inq_${approvalIdOf(901).slice(4)}` as InputRequestId
      const work = { _tag: "WorkChanged", id: "w", kind: "agent", title: "Write it" } as const
      const run = yield* writeRun([
        [{ _tag: "Spawned" }, messageInput("a"), { ...work, state: "running" }],
        [{ _tag: "InputRequested", inputId, request: { kind: "question", title: "Which?" } }],
        [{ _tag: "OutcomeReported", outcome: { _tag: "Completed", text: "one" } }]
      ])
      yield* restart
      const events = yield* logOf(run)
      assert.deepStrictEqual(
        events.slice(-5).map(({ type }) => type),
        ["run.turn.ended", "run.input.resolved", "run.work.ended", "run.changes.unknown", "run.failed"]
      )
      const row = findRun(store, run.id)
      assert.deepInclude(row, { state: "failed", pendingInputs: [] })
      assert.deepInclude(row?.error, { code: "work_unfinished", details: { work: ["Write it"] } })
      assert.notProperty(row, "outstanding")
      assert.notProperty(row, "turn")
      assert.deepInclude(findInput(store, inputId), { state: "cancelled" })
    })
  )

  it.effect("ends the processes that bear its predecessor's mark", () =>
    Effect.gen(function* () {
      const id = yield* restart
      const child = yield* Effect.acquireRelease(
        Effect.sync(() =>
          spawn("/bin/sh", ["-c", "echo ready; read line"], {
            env: { [EDGE_MARK]: id },
            detached: true,
            stdio: ["pipe", "pipe", "ignore"]
          })
        ),
        (left) => Effect.sync(() => left.kill("SIGKILL"))
      )
      yield* Effect.promise(() => once(child.stdout, "data"))
      const exit = once(child, "exit")
      yield* restart
      assert.deepStrictEqual(yield* Effect.promise(() => exit), [null, "SIGKILL"])
    })
  )

  it.effect("reads a log that is longer than it reads at once", () =>
    Effect.gen(function* () {
      const text = "x".repeat(30_000)
      const run = yield* writeRun(Array.from({ length: 25 }, () => [messageInput(text)]))
      yield* restart
      const events = yield* logOf(run)
      assert.deepStrictEqual(
        events.map(({ seq }) => seq),
        events.map((_, i) => i + 1)
      )
      assert.strictEqual(events.at(-1)?.type, "run.failed")
    })
  )

  it.effect.prop(
    "ends a run that was cut off at any commit exactly once, and leaves one that had ended alone",
    [anyTurns, Arbitrary.schema(Schema.Boolean)],
    ([turns, over]) =>
      Effect.gen(function* () {
        const store = yield* Store
        const log = yield* EdgeEventLog
        const run = yield* writeRun(over ? [...turns, [{ _tag: "Ended" }]] : turns)
        const before = yield* logOf(run)
        yield* restart
        const events = yield* logOf(run)
        assert.deepStrictEqual(events.slice(0, before.length), before)
        assert.deepStrictEqual(
          events.map(({ seq }) => seq),
          events.map((_, i) => i + 1)
        )
        assert.strictEqual(events.filter(({ type }) => isTerminalType(type)).length, 1)
        if (over) assert.strictEqual(events.length, before.length)
        else assert.strictEqual(events.at(-1)?.type, "run.failed")

        const state = events.reduce(fold, initial)
        assert(state.status !== undefined && isTerminal(state.status))
        assert.deepStrictEqual([state.pending.size, state.openCalls.size], [0, 0])
        assert.deepInclude(findRun(store, run.id), {
          state: state.status,
          lastSeq: events.length,
          pendingApprovals: []
        })
        assert.isTrue(log.read(run.id, 0, 100_000_000).at(-1)?.terminal)
        assert.deepStrictEqual(pageOfApprovals(store, { runId: run.id, state: "pending", limit: 10 }), [])
        assert.deepStrictEqual(unfinishedRuns(store), [])

        yield* restart
        assert.strictEqual((yield* logOf(run)).length, events.length, "a second start adds nothing")
      }),
    tries(15)
  )
})
