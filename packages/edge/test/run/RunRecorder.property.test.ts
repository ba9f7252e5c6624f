import { decodeEvent, type EventDraft } from "@corral/domain/run/RunEvent"
import { type RunMachineInput } from "@corral/domain/run/RunMachine"
import { fold, initial } from "@corral/domain/run/RunState"
import { isTerminal } from "@corral/domain/run/RunEnd"
import { assert, layer } from "@effect/vitest"
import { Effect, Result } from "effect"
import { pageOfApprovals } from "../../src/store/EdgeRequestRows.ts"
import { EdgeEventLog } from "../../src/log/EdgeEventLog.ts"
import { RunRecorder } from "../../src/run/kernel/RunRecorder.ts"
import { findRun } from "../../src/log/Runs.ts"
import { Store } from "../../src/store/Store.ts"
import { anyTurns } from "./RunInputs.ts"
import { created, newRunId, runOf } from "../Samples.ts"
import { memoryLogLayer } from "../Stored.ts"

const timeOf = (turn: number) => new Date(turn * 1_000).toISOString()
const ended: RunMachineInput = { _tag: "Ended" }

layer(memoryLogLayer, { excludeTestServices: true })("RunRecorder", (it) => {
  it.effect.prop(
    "keeps log, run row and approval rows in step, turn by turn",
    [anyTurns],
    ([turns]) =>
      Effect.gen(function* () {
        const store = yield* Store
        const log = yield* EdgeEventLog
        const runId = newRunId()
        const recorder = new RunRecorder(runOf(runId))
        let turn = 0
        for (const inputs of [[created], ...turns, [ended]]) {
          recorder.at(timeOf(++turn))
          for (const input of inputs) recorder.apply(input)
          const shown = recorder.run
          const batch = recorder.take()
          assert.strictEqual(recorder.run, shown, "only what is on disk is shown")
          assert.isUndefined(recorder.take(), "taken once")
          if (batch === undefined) continue
          yield* log.append(batch.events, batch.projections)
          recorder.committed(batch.run)

          const lines = log.read(runId, 0, 100_000_000).flatMap((each) => each.lines.split("\n"))
          const events = lines.map((line) => {
            const decoded = decodeEvent(JSON.parse(line))
            assert(Result.isSuccess(decoded) && decoded.success._tag === "KnownEvent", line)
            return decoded.success.event
          })
          assert.deepStrictEqual(
            events.map(({ seq }) => seq),
            events.map((_, i) => i + 1)
          )
          assert.isTrue(events.every((event) => event.runId === runId))
          const state = (events as ReadonlyArray<EventDraft>).reduce(fold, initial)
          const { run } = recorder
          assert.strictEqual(run.lastSeq, lines.length)
          assert.strictEqual(run.updatedAt, timeOf(turn))
          assert.deepStrictEqual(run.pendingApprovals, state.pending.keys())
          assert.strictEqual(run.state === "starting" ? "created" : run.state, state.status)
          assert.deepStrictEqual(
            [run.usage, run.resultText, run.error, run.model, run.runtimeSessionId],
            [state.usage, state.resultText, state.error, state.model, state.runtimeSessionId]
          )
          assert.strictEqual(run.endedAt, isTerminal(run.state) ? timeOf(turn) : undefined)

          // The row is as the run was when something of it last moved: text that flows does not count.
          const row = findRun(store, runId)
          assert(row !== undefined)
          const { lastSeq: _, updatedAt: __, ...moved } = run
          const { lastSeq: ___, updatedAt: ____, ...stored } = row
          assert.deepStrictEqual(stored, JSON.parse(JSON.stringify(moved)))

          const rows = pageOfApprovals(store, { runId, limit: 100 })
          const requests = events.flatMap((event) => (event.type === "run.approval.requested" ? [event] : []))
          assert.deepStrictEqual(
            rows.map((approval) => [approval.id, approval.state, approval.requestedAt] as const),
            requests
              .map(
                ({ payload, createdAt }) =>
                  [
                    payload.approvalId,
                    state.resolved.get(payload.approvalId)?.state ?? "pending",
                    createdAt
                  ] as const
              )
              .toSorted(([a], [b]) => (a < b ? -1 : 1))
          )
          for (const approval of rows) {
            const resolved = events.find(
              (event) => event.type === "run.approval.resolved" && event.payload.approvalId === approval.id
            )
            assert.strictEqual(approval.resolvedAt, resolved?.createdAt)
          }
        }
        assert.isTrue(recorder.terminal)
        assert.isTrue(log.read(runId, 0, 100_000_000).at(-1)?.terminal)
      }),
    { arbitrary: { runs: 40 } }
  )
})
