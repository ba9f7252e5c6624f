/**
 * The HTTP contract of an Edge: every path, what it takes, answers and refuses with. Groups are exported one by one, so that a server
 * may serve some of them; the event stream stands beside it (`EventStream`).
 *
 * A handler fails with error objects; `withErrorObject` makes them of failures.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Agent, Runner } from "../run/Agent.ts"
import { Approval, ApprovalState, DecideApproval, originHeaders } from "../approval/Approval.ts"
import { Artifact } from "../run/Artifact.ts"
import { Diff } from "./Diff.ts"
import { responses } from "../errors/ErrorTable.ts"
import { After } from "../http/EventStream.ts"
import { Grant } from "../approval/Grant.ts"
import { EdgeNotReady, EdgeReadiness, LinkReadiness, Liveness } from "../http/Health.ts"
import { idempotencyHeaders } from "../http/IdempotencyKey.ts"
import { ApprovalId, ArtifactId, GrantId, PreviewId, RunId, WorkspaceId } from "../identity/Ids.ts"
import { Limit, listQuery, page } from "../http/Page.ts"
import { CreatePreview, OpenedPreview, Preview } from "../device/Preview.ts"
import { BearerAuthority, RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { CreateRun, Run, RunInput, RunStatus } from "../run/Run.ts"
import { EventPage, RunPending, RunResult } from "./RunViews.ts"
import { FileEntry, FilePreview, Workspace, WorkspacePath } from "../device/Workspace.ts"
import { ExaminedWorktree, Worktree } from "../run/Worktree.ts"

const created = HttpApiSchema.status(201)
const location = { location: Schema.String }
const run = { id: RunId }

/** Readiness and liveness. Without a token the answer has no details. */
export class EdgeHealth extends HttpApiGroup.make("health")
  .add(
    HttpApiEndpoint.get("health", "/health", { success: EdgeReadiness, error: EdgeNotReady }),
    HttpApiEndpoint.get("v1Health", "/v1/health", { success: EdgeReadiness, error: EdgeNotReady }),
    HttpApiEndpoint.get("live", "/health/live", { success: Liveness })
  )
  .middleware(SchemaErrors)
  .middleware(RequestIds) {}

export class EdgeAgents extends HttpApiGroup.make("agents")
  .add(
    HttpApiEndpoint.get("list", "/v1/agents", { success: page(Agent) }),
    HttpApiEndpoint.get("listRunners", "/v1/runners", { success: page(Runner) })
  )
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}

export class EdgeWorkspaces extends HttpApiGroup.make("workspaces")
  .add(HttpApiEndpoint.get("list", "/v1/workspaces", { success: page(Workspace) }))
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}

/** What lies in a workspace: directory pages and file previews, never outside its root. */
export class EdgeFiles extends HttpApiGroup.make("files")
  .add(
    HttpApiEndpoint.get("files", "/v1/workspaces/:id/files", {
      params: { id: WorkspaceId },
      query: { ...listQuery, path: Schema.optionalKey(WorkspacePath) },
      success: page(FileEntry),
      error: responses(
        "workspace_outside_allowlist",
        "permission_denied",
        "not_found",
        "schema_validation_failed"
      )
    }),
    HttpApiEndpoint.get("file", "/v1/workspaces/:id/file", {
      params: { id: WorkspaceId },
      query: { path: WorkspacePath },
      success: FilePreview,
      error: responses("workspace_outside_allowlist", "permission_denied", "not_found")
    })
  )
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}

export class EdgeRuns extends HttpApiGroup.make("runs")
  .add(
    HttpApiEndpoint.get("list", "/v1/runs", {
      query: { ...listQuery, state: Schema.optionalKey(RunStatus) },
      success: page(Run),
      error: responses("schema_validation_failed")
    }),
    HttpApiEndpoint.post("create", "/v1/runs", {
      headers: idempotencyHeaders,
      payload: CreateRun,
      success: HttpApiSchema.WithHeaders(Run.pipe(created), location),
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
      "A cancelled run stays cancelled; a completed or failed one is refused."
    ),
    HttpApiEndpoint.post("input", "/v1/runs/:id/input", {
      params: run,
      headers: idempotencyHeaders,
      payload: RunInput,
      success: Run,
      error: responses("not_found", "conflict", "idempotency_conflict", "idempotency_in_flight")
    }).annotate(
      OpenApi.Description,
      "A further user message. `conflict` where the run has ended or takes none."
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
        "run_cancelled",
        "runtime_unavailable",
        "permission_denied",
        "approval_rejected",
        "internal"
      )
    }).annotate(
      OpenApi.Description,
      "Waits up to `waitMs`. 202 while the run is going; a run that failed for another reason is `internal`, its failure is in the run."
    ),
    HttpApiEndpoint.get("events", "/v1/runs/:id/events", {
      params: run,
      query: { after: Schema.optionalKey(After), limit: Limit },
      success: EventPage,
      error: responses("not_found", "conflict")
    }).annotate(
      OpenApi.Description,
      "The log after `after`. With `Accept: text/event-stream` it is followed live: `id:` is the seq, `Last-Event-ID` is honoured. " +
        "`conflict` with the reason `replay_gap` where retention has dropped the log: the run says how it ended."
    )
  )
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}

/** What a run changed, against the workspace as it was when the run started. */
export class EdgeDiffs extends HttpApiGroup.make("diffs")
  .add(
    HttpApiEndpoint.get("diff", "/v1/runs/:id/diff", {
      params: run,
      query: listQuery,
      success: Diff,
      error: responses(
        "not_found",
        "workspace_outside_allowlist",
        "permission_denied",
        "schema_validation_failed"
      )
    })
  )
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}

/** The checkouts of runs with `isolation: "worktree"`. They are kept until a user removes them. */
export class EdgeWorktrees extends HttpApiGroup.make("worktrees")
  .add(
    HttpApiEndpoint.get("list", "/v1/worktrees", {
      query: listQuery,
      success: page(Worktree),
      error: responses("schema_validation_failed")
    }).annotate(OpenApi.Description, "Those that were not removed, newest first."),
    HttpApiEndpoint.get("get", "/v1/runs/:id/worktree", {
      params: run,
      success: ExaminedWorktree,
      error: responses("not_found")
    }),
    HttpApiEndpoint.delete("remove", "/v1/runs/:id/worktree", {
      params: run,
      query: { force: Schema.optionalKey(Schema.Literals(["true", "false"])) },
      success: HttpApiSchema.NoContent,
      error: responses("not_found", "conflict", "schema_validation_failed")
    }).annotate(
      OpenApi.Description,
      "`conflict` while a run lives in it, and where files or commits would be lost. `force=true` first keeps these under `refs/corral/<run>` of the repository."
    )
  )
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}

/** What a run made to be kept. */
export class EdgeArtifacts extends HttpApiGroup.make("artifacts")
  .add(
    HttpApiEndpoint.get("list", "/v1/runs/:id/artifacts", {
      params: run,
      query: listQuery,
      success: page(Artifact),
      error: responses("not_found", "schema_validation_failed")
    }),
    HttpApiEndpoint.get("get", "/v1/artifacts/:id", {
      params: { id: ArtifactId },
      success: Artifact,
      error: responses("not_found")
    }),
    HttpApiEndpoint.get("content", "/v1/artifacts/:id/content", {
      params: { id: ArtifactId },
      success: HttpApiSchema.StreamUint8Array(),
      error: responses("not_found")
    }).annotate(
      OpenApi.Description,
      "The bytes, always as an attachment, in the artifact's own media type. 206 for one `Range`; a range that cannot be served is ignored."
    )
  )
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}

export class EdgePreviews extends HttpApiGroup.make("previews")
  .add(
    HttpApiEndpoint.get("list", "/v1/runs/:id/previews", {
      params: run,
      query: listQuery,
      success: page(Preview),
      error: responses("not_found", "schema_validation_failed")
    }),
    HttpApiEndpoint.post("create", "/v1/previews", {
      headers: idempotencyHeaders,
      payload: CreatePreview,
      success: HttpApiSchema.WithHeaders(OpenedPreview.pipe(created), location),
      error: responses(
        "workspace_outside_allowlist",
        "permission_denied",
        "not_found",
        "idempotency_conflict",
        "idempotency_in_flight",
        "overloaded"
      )
    }).annotate(
      OpenApi.Description,
      "The replay of an idempotency key answers the same preview with a fresh `url`, or `not_found` where it is closed."
    ),
    HttpApiEndpoint.get("get", "/v1/previews/:id", {
      params: { id: PreviewId },
      success: OpenedPreview,
      error: responses("not_found")
    }),
    HttpApiEndpoint.delete("remove", "/v1/previews/:id", {
      params: { id: PreviewId },
      success: HttpApiSchema.NoContent,
      error: responses("not_found")
    })
  )
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}

export class EdgePermissions extends HttpApiGroup.make("permissions")
  .add(
    HttpApiEndpoint.get("list", "/v1/permissions", {
      query: { ...listQuery, runId: Schema.optionalKey(RunId), state: Schema.optionalKey(ApprovalState) },
      success: page(Approval),
      error: responses("schema_validation_failed")
    }),
    HttpApiEndpoint.get("get", "/v1/permissions/:id", {
      params: { id: ApprovalId },
      success: Approval,
      error: responses("not_found")
    }),
    HttpApiEndpoint.post("decide", "/v1/permissions/decide", {
      headers: { ...idempotencyHeaders, ...originHeaders },
      payload: DecideApproval,
      success: Approval,
      error: responses(
        "not_found",
        "permission_denied",
        "approval_already_resolved",
        "approval_expired",
        "schema_validation_failed",
        "idempotency_conflict",
        "idempotency_in_flight",
        "overloaded"
      )
    }).annotate(OpenApi.Description, "The first valid decision wins; the same one again is answered alike.")
  )
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}

/** What people allowed for longer than one run: to be seen, and to be taken back. */
export class EdgeGrants extends HttpApiGroup.make("grants")
  .add(
    HttpApiEndpoint.get("list", "/v1/grants", {
      query: { ...listQuery, workspace: Schema.optionalKey(WorkspaceId) },
      success: page(Grant),
      error: responses("schema_validation_failed")
    }),
    HttpApiEndpoint.delete("remove", "/v1/grants/:id", {
      params: { id: GrantId },
      success: HttpApiSchema.NoContent,
      error: responses("not_found")
    }).annotate(OpenApi.Description, "Takes it back, for runs that are under way too.")
  )
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}

/** This machine as a device of a Hub. */
export class EdgeHubLink extends HttpApiGroup.make("link")
  .add(
    HttpApiEndpoint.post("rotate", "/v1/link/rotate", {
      success: LinkReadiness,
      error: responses("conflict", "overloaded")
    }).annotate(
      OpenApi.Description,
      "Gives this device a new key at its Hub; the old one is worth nothing from then on. `conflict` where the Edge is not linked."
    )
  )
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}

/** The HTTP API of the Edge. A refused request reports all of its issues, not only the first. */
export class EdgeApi extends HttpApi.make("edge")
  .add(
    EdgeHealth,
    EdgeAgents,
    EdgeWorkspaces,
    EdgeFiles,
    EdgeRuns,
    EdgeDiffs,
    EdgeWorktrees,
    EdgeArtifacts,
    EdgePreviews,
    EdgePermissions,
    EdgeGrants,
    EdgeHubLink
  )
  .annotate(HttpApi.ParseOptions, { errors: "all" })
  .annotateMerge(
    OpenApi.annotations({
      title: "Corral Edge",
      version: "1",
      description:
        "Runs on this machine. Beside this API stands the WebSocket `/v1/events?runId=&token=&after=`: envelopes as JSON text, every stored " +
        "event after `after`, then live; closed with 1000 after the run's last event, 1013 when the reader stalls, 4410 when a gap cannot " +
        "be filled. Every answer carries `X-Request-Id` and `X-Contract-Version`. Any request may also be refused with 400 to 431, 500 " +
        "(`internal`) or 503 (`overloaded`), always as an error object."
    })
  ) {}
