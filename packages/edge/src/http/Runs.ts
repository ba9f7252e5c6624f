/** Endpoints of `/v1/runs`: create, list, read, cancel, pause, resume, finish, further input, result and log. */
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import {
  ApprovalRejected,
  Internal,
  PermissionDenied,
  RunCancelled,
  RunTimeout,
  RuntimeUnavailable,
  WorkUnfinished
} from "@corral/domain/errors/Failures"
import { withErrorObject } from "@corral/domain/http/RequestContext"
import type { Run } from "@corral/domain/run/Run"
import { traceparentOf } from "@corral/domain/http/TraceContext"
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import { EdgeEventLog } from "../log/EdgeEventLog.ts"
import { EdgeIdempotency, type ResultRows } from "../log/EdgeIdempotency.ts"
import { RunSupervisor } from "../run/RunSupervisor.ts"
import { runEvents } from "./RunEvents.ts"
import { idPosition, pageOf } from "@corral/service/http/Paged"
import { LOCAL_PRINCIPAL } from "./Principal.ts"
import { markReplayed } from "@corral/service/http/Replayed"

export const edgeRuns = HttpApiBuilder.group(
  EdgeApi,
  "runs",
  Effect.fnUntraced(function* (handlers) {
    const log = yield* EdgeEventLog
    const supervisor = yield* RunSupervisor
    const idempotency = yield* EdgeIdempotency

    return handlers.handleAll({
      list: ({ query: { cursor, limit, state } }) =>
        pageOf(
          { principal: LOCAL_PRINCIPAL, filter: `runs ${state ?? ""}`, cursor, limit },
          idPosition,
          (before, limit) => Effect.sync(() => supervisor.list({ before, state, limit }))
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
