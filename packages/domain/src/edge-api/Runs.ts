/** Runs of an Edge: start, input, cancellation, result and log. */
import { responses } from "../errors/ErrorTable.ts"
import { createdWithLocation, idempotencyHeaders } from "../http/Writes.ts"
import { After } from "../http/EventStream.ts"
import { Limit, listQuery, page } from "../http/Page.ts"
import { BearerAuthority, RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { RunId } from "../identity/Ids.ts"
import { CreateRun, Run, RunInput, RunStatus } from "../run/Run.ts"
import { Envelope } from "../run/RunEvent.ts"
import { FINISH_TEXT, PAUSE_TEXT, RESUME_TEXT } from "../run/RunRefusals.ts"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"

/** Body of 200: a completed run with its final text. */
export const RunResult = Schema.Struct({ run: Run, text: Schema.String }).annotate({
  identifier: "RunResult"
})
export type RunResult = typeof RunResult.Type

/** Body of 202: the run was still in progress at the end of the wait. Send the request again. */
export const RunPending = Schema.Struct({ run: Run }).annotate({ identifier: "RunPending" })
export type RunPending = typeof RunPending.Type

/** One page of a log. `nextCursor` is the next `after` as decimal text, null at the current end of the log. */
export const EventPage = page(Envelope).annotate({ identifier: "EventPage" })
export type EventPage = typeof EventPage.Type

const run = { id: RunId }

export class EdgeRuns extends HttpApiGroup.make("runs")
  .add(
    HttpApiEndpoint.get("list", "/v1/runs", {
      query: {
        ...listQuery,
        state: Schema.optionalKey(RunStatus),
        replaced: Schema.optionalKey(Schema.Literals(["true", "false"]))
      },
      success: page(Run),
      error: responses("schema_validation_failed")
    }).annotate(
      OpenApi.Description,
      "Newest first. Without `replaced=true`, runs are left out that another run replaces automatically."
    ),
    HttpApiEndpoint.post("create", "/v1/runs", {
      headers: idempotencyHeaders,
      payload: CreateRun,
      success: createdWithLocation(Run),
      error: responses(
        "invalid_agent_id",
        "workspace_outside_allowlist",
        "permission_denied",
        "runtime_unavailable",
        "schema_validation_failed",
        "idempotency_conflict",
        "idempotency_in_flight",
        "overloaded"
      )
    }),
    HttpApiEndpoint.get("get", "/v1/runs/:id", { params: run, success: Run, error: responses("not_found") }),
    HttpApiEndpoint.post("cancel", "/v1/runs/:id/cancel", {
      params: run,
      success: Run,
      error: responses("not_found", "run_not_cancellable")
    }).annotate(
      OpenApi.Description,
      "Cancelling a cancelled run has no effect. `run_not_cancellable` if the run has completed or failed."
    ),
    HttpApiEndpoint.post("pause", "/v1/runs/:id/pause", {
      params: run,
      success: Run,
      error: responses("not_found", "conflict")
    }).annotate(OpenApi.Description, PAUSE_TEXT),
    HttpApiEndpoint.post("resume", "/v1/runs/:id/resume", {
      params: run,
      success: Run,
      error: responses("not_found", "conflict")
    }).annotate(OpenApi.Description, RESUME_TEXT),
    HttpApiEndpoint.post("finish", "/v1/runs/:id/finish", {
      params: run,
      success: Run,
      error: responses("not_found", "conflict")
    }).annotate(OpenApi.Description, FINISH_TEXT),
    HttpApiEndpoint.post("input", "/v1/runs/:id/input", {
      params: run,
      headers: idempotencyHeaders,
      payload: RunInput,
      success: Run,
      error: responses("not_found", "conflict", "idempotency_conflict", "idempotency_in_flight")
    }).annotate(
      OpenApi.Description,
      "Sends a further user message. `conflict` if the run has ended or its runtime does not accept messages."
    ),
    HttpApiEndpoint.get("result", "/v1/runs/:id/result", {
      params: run,
      query: {
        waitMs: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 60_000 })))
      },
      success: [RunResult, RunPending.pipe(HttpApiSchema.status(202))],
      error: responses(
        "not_found",
        "run_timeout",
        "budget_exceeded",
        "run_cancelled",
        "runtime_unavailable",
        "permission_denied",
        "approval_rejected",
        "work_unfinished",
        "internal",
        "overloaded"
      )
    }).annotate(
      OpenApi.Description,
      "Waits up to `waitMs` for the end of the run. 202 if the run is still in progress. A run that failed for a reason without its own status returns `internal`; the run has the failure."
    ),
    HttpApiEndpoint.get("raw", "/v1/runs/:id/raw", {
      params: run,
      success: HttpApiSchema.StreamUint8Array(),
      error: responses("not_found")
    }).annotate(
      OpenApi.Description,
      "What the run's program printed, without secrets, as JSON lines: of stdout `{at, stream, text, end?, bytes?}`, the end of stderr, and the exit. The first line is `{leftOut}` if the beginning was deleted. `not_found` unless the Edge kept it (`CORRAL_EDGE_RAW_OUTPUT=keep`). No Hub serves it."
    ),
    HttpApiEndpoint.get("events", "/v1/runs/:id/events", {
      params: run,
      query: { after: Schema.optionalKey(After), limit: Limit },
      success: EventPage,
      error: responses("not_found", "conflict")
    }).annotate(
      OpenApi.Description,
      "Events after `after`. With `Accept: text/event-stream` the response is a live stream: `id:` is the seq, and `Last-Event-ID` resumes. " +
        "`conflict` with the reason `replay_gap` if retention has deleted the log; the run still has its outcome."
    )
  )
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}
