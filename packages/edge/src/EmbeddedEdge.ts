/**
 * An Edge inside a program, as one service: starts runs, follows their events, decides and answers. Requests are those of the HTTP interface, with
 * plain strings as ids. `openEdge` is the same with promises.
 *
 * Guarantees: the layer reads nothing of the process's environment. When its scope closes, its runs have ended and their last events are stored.
 * Two layers are two Edges.
 *
 * Does not: serve HTTP, or join a Hub. `edgeLayer` and `edgeRoutes` do. A program that needs more than this uses `edgeCoreLayer`.
 */
import { type Approval, DecideApproval } from "@corral/domain/approval/Approval"
import {
  Conflict,
  type NotFound,
  Overloaded,
  type RunNotCancellable,
  SchemaValidationFailed
} from "@corral/domain/errors/Failures"
import { issuesOf } from "@corral/domain/errors/ValidationIssues"
import { RunId } from "@corral/domain/identity/Ids"
import { AnswerInput, type InputRequest } from "@corral/domain/input/InputRequest"
import { CreateRun, type Run, type RunMode, type RunStatus } from "@corral/domain/run/Run"
import { isTerminal } from "@corral/domain/run/RunEnd"
import { decodeReceivedEvent, type RunEvent } from "@corral/domain/run/RunEvent"
import { Context, Deferred, Effect, Latch, Layer, Schema, Stream } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { EdgeConfig, makeEdgeConfig } from "./config/EdgeConfig.ts"
import { edgeCoreLayer } from "./Edge.ts"
import { LOCAL_PRINCIPAL } from "./http/EdgeRequestPolicy.ts"
import { EdgeEventLog } from "./log/EdgeEventLog.ts"
import { runLines } from "./log/EdgeLogSource.ts"
import type { AdmissionFailure } from "./run/start/RunAdmission.ts"
import type { DecideFailure } from "./run/kernel/RunMessage.ts"
import { type AnswerFailure, RunSupervisor } from "./run/RunSupervisor.ts"
import { EdgeStorage } from "./store/EdgeStorage.ts"
import { Store } from "./store/Store.ts"
import { damageOptions } from "./store/StoreDamage.ts"

/** Configuration of the Edge. Without `home`, it keeps everything in memory and in a temporary folder, which it removes at its end. */
export type EmbeddedEdgeOptions = Partial<EdgeConfig>

/** Body of `POST /v1/runs`; the mode is `ask` by default. */
export type RunRequest = Omit<typeof CreateRun.Encoded, "mode"> & { readonly mode?: RunMode }

/** Body of `POST /v1/permissions/decide`. */
export type EmbeddedDecision = typeof DecideApproval.Encoded

/** Body of `POST /v1/inputs/answer`. */
export type EmbeddedAnswer = typeof AnswerInput.Encoded

export interface RunFilter {
  readonly state?: RunStatus | undefined
  /** At most this many, newest first; 50 by default. */
  readonly limit?: number | undefined
}

type Invalid = SchemaValidationFailed

export class EmbeddedEdge extends Context.Service<
  EmbeddedEdge,
  {
    /** Succeeds when the run is stored and started. */
    readonly start: (request: RunRequest) => Effect.Effect<Run, AdmissionFailure>
    readonly run: (id: string) => Effect.Effect<Run, NotFound | Invalid>
    readonly runs: (filter?: RunFilter) => Effect.Effect<ReadonlyArray<Run>>
    /** Events of a run after the position `after`, stored ones and then new ones, to its last. Events of unknown types are left out. */
    readonly events: (
      id: string,
      options?: { readonly after?: number | undefined }
    ) => Stream.Stream<RunEvent, NotFound | Invalid | Conflict | Overloaded>
    /** Decides an approval. The first valid decision wins. */
    readonly decide: (request: EmbeddedDecision) => Effect.Effect<Approval, DecideFailure | Overloaded>
    /** Answers a question or a plan. The first valid answer wins. */
    readonly answer: (request: EmbeddedAnswer) => Effect.Effect<InputRequest, AnswerFailure>
    /** Sends further input to a live run. */
    readonly input: (id: string, text: string) => Effect.Effect<Run, NotFound | Conflict | Invalid>
    /** Succeeds with the cancelled run when nothing of it is left. */
    readonly cancel: (id: string) => Effect.Effect<Run, CancelFailure>
    /** The run, once it has ended. */
    readonly result: (id: string) => Effect.Effect<Run, NotFound | Invalid>
  }
>()("corral/edge/EmbeddedEdge") {
  static readonly layer = (options: EmbeddedEdgeOptions) =>
    Layer.effect(EmbeddedEdge, make).pipe(
      Layer.provide(Layer.fresh(edgeCoreLayer)),
      Layer.provide(options.home === undefined ? temporary(options) : storedIn(options.home, options))
    )
}

type CancelFailure = NotFound | RunNotCancellable | Invalid

const storedIn = (home: string, options: EmbeddedEdgeOptions) =>
  Layer.succeed(EdgeConfig, makeEdgeConfig({ ...options, home: resolve(home) }))

const temporary = (options: EmbeddedEdgeOptions) =>
  Layer.effect(
    EdgeConfig,
    Effect.acquireRelease(
      Effect.sync(() =>
        makeEdgeConfig({ ...options, home: mkdtempSync(join(tmpdir(), "corral-embedded-")) })
      ),
      ({ home }) => Effect.sync(() => rmSync(home, { recursive: true, force: true }))
    )
  ).pipe(Layer.merge(Layer.succeed(EdgeStorage, Store.layerMemory)))

/** How long one question for a result waits. */
const RESULT_WAIT_MS = 60_000

const by = { by: LOCAL_PRINCIPAL, origin: "terminal" } as const

const make = Effect.gen(function* () {
  const runs = yield* RunSupervisor
  const log = yield* EdgeEventLog
  const whileOpen = yield* readersOf(runs.drain)
  const result = (id: RunId) =>
    Effect.repeat(runs.result(id, RESULT_WAIT_MS), { until: ({ state }) => isTerminal(state) })

  return EmbeddedEdge.of({
    start: (request) =>
      Effect.flatMap(decodeRun({ mode: "ask", ...request }), (decoded) => runs.start(decoded)),
    run: (id) => Effect.flatMap(decodeId(id), runs.get),
    runs: ({ limit = 50, state } = {}) => Effect.sync(() => runs.list({ state, limit })),
    events: (id, { after = 0 } = {}) =>
      Stream.unwrap(
        Effect.map(Effect.flatMap(decodeId(id), runs.get), (run) => eventsOf(log, run.id, after))
      ).pipe(whileOpen),
    decide: (request) =>
      Effect.flatMap(decodeDecision(request), ({ approvalId, runId, scope = "once", ...decision }) =>
        runs.decide(runId, approvalId, { ...decision, scope }, by)
      ),
    answer: (request) =>
      Effect.flatMap(decodeAnswer(request), ({ inputId, runId, ...answer }) =>
        runs.answer(runId, inputId, { ...by, answer, allowsPlain: true, keep: () => [] })
      ),
    input: (id, text) => Effect.flatMap(decodeId(id), (runId) => runs.input(runId, text)),
    cancel: (id) =>
      Effect.flatMap(decodeId(id), (runId) =>
        runs.cancel(runId, "cancelled by the program", LOCAL_PRINCIPAL)
      ),
    result: (id) => Effect.flatMap(decodeId(id), result)
  })
})

/** Decodes a request of the program, as the HTTP interface decodes one. */
const decoderOf = <A, I>(schema: Schema.Codec<A, I>) => {
  const decode = Schema.decodeEffect(schema)
  return (request: I) =>
    Effect.mapError(
      decode(request),
      ({ issue }) => new SchemaValidationFailed({ details: { issues: issuesOf(issue) } })
    )
}

const decodeRun = decoderOf(CreateRun)
const decodeDecision = decoderOf(DecideApproval)
const decodeAnswer = decoderOf(AnswerInput)
const decodeId = decoderOf(RunId)

const eventsOf = (log: EdgeEventLog["Service"], id: RunId, after: number) =>
  runLines(log, id, after).pipe(
    Stream.map((lines) =>
      lines.flatMap((line) => {
        const decoded = decodeReceivedEvent(JSON.parse(line))
        return decoded?._tag === "KnownEvent" ? [decoded.event] : []
      })
    ),
    Stream.flattenIterable,
    Stream.mapError((failure) =>
      failure._tag === "StoreDamaged" ? new Overloaded(damageOptions(failure)) : new Conflict(deletedEvents)
    )
  )

/** How long the readers of events have to read the last ones when the Edge ends. */
const LAST_READS = "1 second"
/** How long readers that are reading have to notice the end. */
const INTERRUPTION = "100 millis"

/**
 * Readers of events, which read no longer than the store is open. When the scope closes, the runs end, readers receive their last events, and those
 * that are left fail.
 */
const readersOf = Effect.fnUntraced(function* (drain: Effect.Effect<void>) {
  const closed = yield* Deferred.make<never, Overloaded>()
  const idle = yield* Latch.make(true)
  let count = 0
  yield* Effect.addFinalizer(() =>
    drain.pipe(
      Effect.andThen(Effect.timeoutOption(idle.await, LAST_READS)),
      Effect.andThen(Deferred.fail(closed, new Overloaded({ message: "The Edge is closed." }))),
      Effect.andThen(Effect.timeoutOption(idle.await, INTERRUPTION))
    )
  )
  const begin = Effect.flatMap(Deferred.isDone(closed), (isClosed) => {
    if (isClosed) return Deferred.await(closed)
    count++
    return idle.close
  })
  const end = Effect.suspend(() => (--count === 0 ? idle.open : Effect.void))
  return <A, E>(events: Stream.Stream<A, E>): Stream.Stream<A, E | Overloaded> =>
    Stream.unwrap(
      Effect.as(
        Effect.acquireRelease(begin, () => end),
        events
      )
    ).pipe(Stream.interruptWhen(Deferred.await(closed)))
})

const deletedEvents = {
  message: "The events after this position were deleted by retention.",
  details: { reason: "replay_gap" }
}
