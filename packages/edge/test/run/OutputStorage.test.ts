/** From what a runtime prints to the log: long outputs and artifacts are on disk before the events that name them. */
import { assert, describe, it } from "@effect/vitest"
import { draft, type Envelope } from "@corral/domain/run/RunEvent"
import type { RunMachineInput } from "@corral/domain/run/RunMachine"
import { Effect, Layer, Stream } from "effect"
import { Artifacts } from "../../src/artifact/Artifacts.ts"
import { EdgeEventLog } from "../../src/log/EdgeEventLog.ts"
import { readLoggedRun } from "../../src/run/recovery/Recovery.ts"
import { storeOutputs } from "../../src/run/actor/RunTurn.ts"
import { RunRecorder } from "../../src/run/kernel/RunRecorder.ts"
import { temporaryFolder } from "../Folder.ts"
import { approvalIdOf, at, created, later, newRunId, request, runOf, messageInput } from "../Samples.ts"
import { memoryLogLayer } from "../Stored.ts"

const called: RunMachineInput = {
  _tag: "EventEmitted",
  event: draft("run.tool.call", { callId: "c1", tool: "Bash", label: "Run", status: "started" })
}
const returned = (output: string): RunMachineInput => ({
  _tag: "EventEmitted",
  event: draft("run.tool.result", { callId: "c1", tool: "Bash", status: "completed", output, exitCode: 0 })
})
const long = "字".repeat(200_000)

const layers = (minFreeBytes: number) =>
  Layer.unwrap(Effect.map(temporaryFolder, (home) => Artifacts.layer({ home, minFreeBytes }))).pipe(
    Layer.provideMerge(memoryLogLayer)
  )

/** What the actor does with a turn; gives what the log then holds of the run. */
const commit = Effect.fnUntraced(function* (recorder: RunRecorder) {
  const log = yield* EdgeEventLog
  yield* storeOutputs(yield* Artifacts, recorder)
  const batch = recorder.take()
  assert(batch !== undefined)
  yield* log.append(batch.events, batch.projections)
  recorder.committed(batch.run)
  const lines = log.read(recorder.run.id, 0, 100_000_000).flatMap(({ lines }) => lines.split("\n"))
  return lines.map((line) => JSON.parse(line) as Envelope)
})

const recorderAfter = (...inputs: ReadonlyArray<RunMachineInput>): RunRecorder => {
  const recorder = new RunRecorder(runOf(newRunId()))
  for (const input of [created, ...inputs]) recorder.apply(input)
  return recorder
}

/** Dense from 1, and the snapshot agrees. */
const assertDense = (recorder: RunRecorder, events: ReadonlyArray<Envelope>): void => {
  assert.deepStrictEqual(
    events.map(({ seq }) => seq),
    events.map((_, i) => i + 1)
  )
  assert.strictEqual(recorder.run.lastSeq, events.length)
}

describe("keepOutputs", () => {
  it.live("keeps the whole of an output that is cut, and says where", () =>
    Effect.gen(function* () {
      const artifacts = yield* Artifacts
      const recorder = recorderAfter(called, returned(long), messageInput("after"))
      assert.strictEqual(recorder.pendingArtifacts.length, 1)
      const events = yield* commit(recorder)
      assertDense(recorder, events)
      assert.deepStrictEqual(
        events.map(({ type }) => type),
        [
          "run.created",
          "run.started",
          "run.tool.call",
          "run.artifact.ready",
          "run.tool.result",
          "run.message.delta"
        ]
      )
      const [artifact] = artifacts.page(recorder.run.id, undefined, 10)
      assert(artifact !== undefined)
      const { id, size, sha256, name, mediaType } = artifact
      assert.deepStrictEqual([name, size], ["Bash output.txt", 600_000])
      assert.deepStrictEqual(events[3]?.payload, { v: 1, artifactId: id, name, mediaType, size, sha256 })
      assert.deepInclude(events[4]?.payload, {
        artifactId: id,
        truncated: true,
        totalBytes: 600_000,
        exitCode: 0
      })
      const { bytes } = yield* artifacts.open(id)
      assert.isTrue(Buffer.concat(yield* Stream.runCollect(bytes())).equals(Buffer.from(long)))
    }).pipe(Effect.provide(layers(0)))
  )

  it.live("puts an artifact where the runtime made it, also in the turn that ends the run", () =>
    Effect.gen(function* () {
      const recorder = recorderAfter(messageInput("before"))
      recorder.addArtifact("a.md", "text/markdown", "# A")
      recorder.apply(messageInput("between"))
      recorder.addArtifact("b.bin", "application/octet-stream", new Uint8Array([1, 2]))
      recorder.apply({ _tag: "OutcomeReported", outcome: { _tag: "Completed", text: "Done." } })
      recorder.at(later)
      recorder.apply({ _tag: "Ended" })
      recorder.addArtifact("late.txt", "text/plain", "after the end")
      const events = yield* commit(recorder)
      assertDense(recorder, events)
      assert.deepStrictEqual(
        events.slice(2).map(({ createdAt, payload, type }) => [type, createdAt, payload["name"]]),
        [
          ["run.message.delta", at, undefined],
          ["run.artifact.ready", at, "a.md"],
          ["run.message.delta", at, undefined],
          ["run.artifact.ready", at, "b.bin"],
          ["run.completed", later, undefined]
        ]
      )
      assert.deepInclude(recorder.run, { state: "completed", endedAt: later })
      assert.strictEqual((yield* Artifacts).page(recorder.run.id, undefined, 10).length, 2)
    }).pipe(Effect.provide(layers(0)))
  )

  it.live("names the artifacts of a call in its result, also if the next Edge writes the result", () =>
    Effect.gen(function* () {
      for (const isNextEdge of [false, true]) {
        const recorder = recorderAfter(called)
        recorder.addArtifact("a.png", "image/png", new Uint8Array([1]), "c1")
        const events = yield* commit(recorder)
        const { payload } = events.at(-1) ?? assert.fail("nothing is written")
        assert.deepInclude(payload, { name: "a.png", callId: "c1" })
        const { contents, lastSeq, state } = readLoggedRun(yield* EdgeEventLog, recorder.run)
        const next = isNextEdge
          ? RunRecorder.recovered(
              { ...recorder.run, lastSeq },
              state,
              { approvals: [], inputs: [] },
              contents
            )
          : recorder
        next.apply(returned("a picture"))
        const result = (yield* commit(next)).at(-1)
        assert.deepStrictEqual(result?.payload["content"], [
          { type: "image", artifactId: payload["artifactId"], mediaType: "image/png", name: "a.png" }
        ])
      }
    }).pipe(Effect.provide(layers(0)))
  )

  it.live(
    "lets the run go on where nothing can be kept: cut outputs without a name, and a notice for each file",
    () =>
      Effect.gen(function* () {
        const recorder = recorderAfter(called, returned(long))
        recorder.addArtifact("a.md", "text/markdown", "# A")
        recorder.apply(messageInput("after"))
        const events = yield* commit(recorder)
        assertDense(recorder, events)
        assert.deepStrictEqual(
          events.slice(2).map(({ type }) => type),
          ["run.tool.call", "run.tool.result", "run.notice", "run.message.delta"]
        )
        assert.include(String(events[4]?.payload["text"]), '"a.md" was not kept')
        assert.deepInclude(events[3]?.payload, { truncated: true, totalBytes: 600_000 })
        assert.notProperty(events[3]?.payload, "artifactId")
      }).pipe(Effect.provide(layers(2 ** 60)))
  )

  it.live("starts a run that speaks first through an artifact, and moves approvals as ever", () =>
    Effect.gen(function* () {
      const recorder = recorderAfter()
      const approvalId = approvalIdOf(71)
      recorder.addArtifact("a.md", "text/markdown", "# A")
      recorder.apply({ _tag: "ApprovalRequested", approvalId, request: request(), expiresAt: later })
      const events = yield* commit(recorder)
      assert.deepStrictEqual(
        events.map(({ type }) => type),
        ["run.created", "run.started", "run.artifact.ready", "run.approval.requested"]
      )
      assert.deepInclude(recorder.run, { state: "waiting_approval", pendingApprovals: [approvalId] })
    }).pipe(Effect.provide(layers(0)))
  )

  it("has nothing to do for a turn that names nothing, and take alone names the files that it drops", () => {
    const recorder = recorderAfter(called, returned("short"))
    assert.deepStrictEqual(recorder.pendingArtifacts, [])
    recorder.addArtifact("a.md", "text/markdown", "# A")
    recorder.apply(messageInput("after"))
    assert.deepStrictEqual(
      recorder
        .take()
        ?.events.lines.split("\n")
        .map((line) => String(JSON.parse(line).type)),
      ["run.created", "run.started", "run.tool.call", "run.tool.result", "run.notice", "run.message.delta"]
    )
  })
})
