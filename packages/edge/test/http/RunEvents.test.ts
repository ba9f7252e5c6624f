import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import type { RequestId, RunId } from "@corral/domain/identity/Ids"
import { draft } from "@corral/domain/run/RunEvent"
import { acceptsEventStream } from "@corral/service/stream/ServerSentEvents"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { EdgeEventLog } from "../../src/log/EdgeEventLog.ts"
import { runEvents } from "../../src/http/Runs.ts"
import { RunRecorder } from "../../src/run/RunRecorder.ts"
import { created, newRunId, runOf, messageInput } from "../Samples.ts"
import { memoryLogLayer } from "../Stored.ts"

const requestOf = (headers: Record<string, string>) =>
  HttpServerRequest.fromWeb(
    new Request("http://127.0.0.1:1/v1/runs/x/events", {
      headers: { accept: "text/event-stream", ...headers }
    })
  )

/** A run of five events that has ended. */
const endedRun = Effect.gen(function* () {
  const log = yield* EdgeEventLog
  const runId = newRunId()
  const recorder = new RunRecorder(runOf(runId))
  recorder.apply(created)
  recorder.apply(messageInput("two\nlines"))
  recorder.apply({ _tag: "EventEmitted", event: draft("run.file.read", { path: 'a "b"' }) })
  recorder.apply({ _tag: "Ended" })
  const batch = recorder.take()
  if (batch !== undefined) yield* log.append(batch.events, batch.projections)
  return runId
})

/** The response to a request for an event stream. */
const eventStream = (
  log: EdgeEventLog["Service"],
  runId: RunId,
  after: number | undefined,
  headers: Record<string, string>
) =>
  runEvents(log, { runId, after, limit: 100, request: requestOf(headers) }).pipe(
    Effect.provideService(CurrentRequestId, "req-1" as RequestId),
    Effect.map((response) => {
      assert(HttpServerResponse.isHttpServerResponse(response))
      return response
    })
  )

/** The whole stream as a reader receives it. */
const streamed = Effect.fnUntraced(function* (
  after: number | undefined,
  headers: Record<string, string> = {}
) {
  const log = yield* EdgeEventLog
  const runId = yield* endedRun
  const response = HttpServerResponse.toWeb(yield* eventStream(log, runId, after, headers))
  assert.include(response.headers.get("content-type") ?? "", "text/event-stream")
  const text = yield* Effect.promise(() => response.text())
  const lines = log.read(runId, 0, 1_000_000).flatMap((batch) => batch.lines.split("\n"))
  return {
    text,
    framesAfter: (seq: number) =>
      lines
        .slice(seq)
        .map((line, i) => `id: ${seq + i + 1}\ndata: ${line}\n\n`)
        .join("")
  }
})

layer(memoryLogLayer)("runEvents as text/event-stream", (it) => {
  it.effect("sends every event under its seq, and ends with the run", () =>
    Effect.gen(function* () {
      const { text, framesAfter } = yield* streamed(undefined)
      assert.strictEqual(text, framesAfter(0))
      assert.strictEqual(text.split("\n\n").length - 1, 5)
    })
  )

  it.effect("continues after the reader's position", () =>
    Effect.gen(function* () {
      const byQuery = yield* streamed(2)
      assert.strictEqual(byQuery.text, byQuery.framesAfter(2))
      const byHeader = yield* streamed(undefined, { "last-event-id": "3" })
      assert.strictEqual(byHeader.text, byHeader.framesAfter(3))
      const empty = yield* streamed(undefined, { "last-event-id": "" })
      assert.strictEqual(empty.text, empty.framesAfter(0))
    })
  )

  it.effect("refuses a Last-Event-ID that is no seq, and does not repeat it", () =>
    Effect.gen(function* () {
      const log = yield* EdgeEventLog
      for (const id of ["x", "-1", "1.5", "1e3", "9999999999999999", "0x1"]) {
        const failure = yield* Effect.flip(eventStream(log, newRunId(), undefined, { "last-event-id": id }))
        assert.deepInclude(failure, {
          code: "schema_validation_failed",
          details: { issues: [{ path: "last-event-id", message: "Expected a seq" }] }
        })
      }
    })
  )

  it.effect("is what a reader asks for by its Accept header, and nothing else is", () =>
    Effect.sync(() => {
      const request = (accept: string) => acceptsEventStream(requestOf({ accept }))
      const yes = [
        "text/event-stream",
        "Text/Event-Stream",
        "text/event-stream;q=1",
        "application/json, text/event-stream"
      ]
      const no = ["application/json", "*/*", "text/event-streams", "text/*", "x-text/event-stream", ""]
      assert.deepStrictEqual(
        yes.map(request),
        yes.map(() => true)
      )
      assert.deepStrictEqual(
        no.map(request),
        no.map(() => false)
      )
    })
  )
})
