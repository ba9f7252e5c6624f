/**
 * Endpoints of `/v1/runs`: create, list, read, cancel, pause, resume, finish, further input, result, raw output and log. The events of a run are a page or a
 * stream.
 */
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import {
  ApprovalRejected,
  BudgetExceeded,
  Internal,
  PermissionDenied,
  RunCancelled,
  RunTimeout,
  RuntimeUnavailable,
  WorkUnfinished
} from "@corral/domain/errors/Failures"
import { CurrentRequestId, withErrorObject } from "@corral/domain/http/RequestContext"
import type { Run } from "@corral/domain/run/Run"
import { traceparentOf } from "@corral/domain/http/TraceContext"
import { Effect, Stream } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import { EdgeEventLog } from "../log/EdgeEventLog.ts"
import { EdgeIdempotency, type ResultRows } from "../log/EdgeIdempotency.ts"
import { RawOutputs } from "../raw/RawOutputs.ts"
import { RunSupervisor } from "../run/RunSupervisor.ts"
import { idPosition, pageOf } from "@corral/service/http/Paged"
import { LOCAL_PRINCIPAL } from "./EdgeRequestPolicy.ts"
import { savedHeaders } from "@corral/service/http/Attachment"
import { markReplayed } from "@corral/service/http/IdempotentRequest"
import { startAfter } from "@corral/domain/http/EventStream"
import type { RunId } from "@corral/domain/identity/Ids"
import { gapToConflict, eventPage } from "@corral/service/stream/LogSource"
import {
  SSE_COMMENT,
  acceptsEventStream,
  eventStreamResponse,
  serverSentEvents
} from "@corral/service/stream/ServerSentEvents"
import { edgeRunSource } from "../log/EdgeLogSource.ts"

// `GET /v1/runs/{id}/events`: a run's log as a JSON page or as `text/event-stream`.

export interface EventsRequest {
  readonly runId: RunId
  readonly after?: number | undefined
  readonly limit: number
  readonly request: HttpServerRequest.HttpServerRequest
}

/** Fails if the position is beyond the log, or if retention has dropped later events. */
export const runEvents = Effect.fn("Runs.runEvents")(
  function* (log: EdgeEventLog["Service"], { after, limit, request, runId }: EventsRequest) {
    const isStream = acceptsEventStream(request)
    const lastSeq = log.lastSeq(runId)
    const start = startAfter(after, isStream ? request.headers["last-event-id"] : undefined, lastSeq)
    if (typeof start !== "number") return yield* start
    const source = edgeRunSource(log, runId)
    if (!isStream) {
      const requestId = yield* CurrentRequestId
      const page = eventPage(source, { after: start, limit, lastSeq, requestId })
      return yield* gapToConflict(lastSeq)(page)
    }
    if (log.endsAt(runId, start)) return eventStreamResponse(Stream.make(SSE_COMMENT))
    const events = serverSentEvents(source, { after: start, isOver: false })
    const text = yield* gapToConflict(lastSeq)(events)
    return eventStreamResponse(text)
  },
  // The server handles reads of damaged data for all endpoints.
  Effect.catchTag("StoreDamaged", (damage) => Effect.die(damage))
)

export const edgeRuns = HttpApiBuilder.group(
  EdgeApi,
  "runs",
  Effect.fnUntraced(function* (handlers) {
    const log = yield* EdgeEventLog
    const supervisor = yield* RunSupervisor
    const idempotency = yield* EdgeIdempotency
    const rawOutputs = yield* RawOutputs

    return handlers.handleAll({
      list: ({ query: { cursor, limit, replaced, state } }) =>
        pageOf(
          { principal: LOCAL_PRINCIPAL, filter: `runs ${state ?? ""} ${replaced ?? ""}`, cursor, limit },
          idPosition,
          (before, limit) =>
            Effect.sync(() => supervisor.list({ before, state, replaced: replaced === "true", limit }))
        ).pipe(withErrorObject),

      create: Effect.fnUntraced(function* ({ headers, payload }) {
        const request = {
          scope: `${LOCAL_PRINCIPAL} POST /v1/runs`,
          key: headers["idempotency-key"],
          request: payload
        }
        const { traceparent } = (yield* HttpServerRequest.HttpServerRequest).headers
        const start = (keep: ResultRows<Run>) => supervisor.start(payload, keep, traceparentOf(traceparent))
        const { body: run, replayed: again } = yield* idempotency.once(request, start)
        return yield* markReplayed(
          HttpApiSchema.withHeaders({ body: run, headers: { location: `/v1/runs/${run.id}` } }),
          again
        )
      }, withErrorObject),

      get: ({ params }) => withErrorObject(supervisor.get(params.id)),

      cancel: ({ params }) =>
        withErrorObject(supervisor.cancel(params.id, "cancelled by the user", LOCAL_PRINCIPAL)),

      pause: ({ params }) => withErrorObject(supervisor.pause(params.id, LOCAL_PRINCIPAL)),

      resume: ({ params }) => withErrorObject(supervisor.resume(params.id, LOCAL_PRINCIPAL)),

      finish: ({ params }) => withErrorObject(supervisor.finish(params.id, LOCAL_PRINCIPAL)),

      input: Effect.fnUntraced(function* ({ headers, params, payload }) {
        const request = {
          scope: `${LOCAL_PRINCIPAL} POST /v1/runs/${params.id}/input`,
          key: headers["idempotency-key"],
          request: payload
        }
        const sendInput = (keep: ResultRows<Run>) =>
          supervisor.input(params.id, payload.text, undefined, undefined, keep)
        const { body, replayed: again } = yield* idempotency.once(request, sendInput)
        return yield* markReplayed(body, again)
      }, withErrorObject),

      result: Effect.fnUntraced(function* ({ params, query }) {
        const run = yield* supervisor.result(params.id, query.waitMs ?? 0)
        return yield* resultOf(run)
      }, withErrorObject),

      raw: Effect.fnUntraced(function* ({ params }) {
        const { id } = yield* supervisor.get(params.id)
        return HttpServerResponse.text(yield* rawOutputs.read(id), {
          contentType: "application/x-ndjson",
          headers: savedHeaders(`${id}.jsonl`)
        })
      }, withErrorObject),

      events: Effect.fnUntraced(function* ({ params, query }) {
        yield* supervisor.get(params.id)
        const request = yield* HttpServerRequest.HttpServerRequest
        return yield* runEvents(log, { ...query, runId: params.id, request })
      }, withErrorObject)
    })
  })
)

/** Result of a run. Only here, a run that did not complete is an error. */
const resultOf = Effect.fnUntraced(function* (run: Run) {
  switch (run.state) {
    case "completed":
      return { run, text: run.resultText ?? "" }
    case "cancelled":
      return yield* new RunCancelled({ details: { runId: run.id } })
    case "failed": {
      const { code = "internal", message = "The run failed.", details = {} } = run.error ?? {}
      const options = { message, details: { ...details, runId: run.id } }
      if (code === "run_timeout") return yield* new RunTimeout(options)
      if (code === "budget_exceeded") return yield* new BudgetExceeded(options)
      if (code === "runtime_unavailable") return yield* new RuntimeUnavailable(options)
      if (code === "permission_denied") return yield* new PermissionDenied(options)
      if (code === "work_unfinished") return yield* new WorkUnfinished(options)
      if (code === "approval_rejected") return yield* new ApprovalRejected(options)
      return yield* new Internal({
        message: "The run failed; its error is in the run.",
        details: { runId: run.id }
      })
    }
    default:
      return { run }
  }
})
