/**
 * Runs as the Hub mirrors them. Events come from its own log; diff, artifacts and cancel are routed to the Edge, authorised each time.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { RequiredAuthority } from "../access/EndpointAuthority.ts"
import { Artifact } from "../run/Artifact.ts"
import { Diff } from "../edge-api/Diff.ts"
import { responses } from "../errors/ErrorTable.ts"
import { After } from "../http/EventStream.ts"
import { HubApproval, HubRun, HubRunStatus } from "./HubRun.ts"
import { idempotencyHeaders } from "../http/IdempotencyKey.ts"
import { ArtifactId, DeviceId, PreviewId, ProjectId, RunId, SessionId } from "../identity/Ids.ts"
import { Limit, listQuery, page } from "../http/Page.ts"
import { OpenedPreview } from "../device/Preview.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { RunInput } from "../run/Run.ts"
import { EventPage } from "../edge-api/RunViews.ts"
import { storable } from "../text/Text.ts"
import { SessionAuthority } from "./SessionAuthority.ts"

const params = { id: RunId }
const list = responses("permission_denied", "schema_validation_failed")
const routed = responses(
  "permission_denied",
  "unauthorized_target",
  "target_offline",
  "overloaded",
  "schema_validation_failed"
)

export class HubRuns extends HttpApiGroup.make("runs")
  .add(
    HttpApiEndpoint.get("list", "/client/runs", {
      query: {
        ...listQuery,
        projectId: Schema.optionalKey(ProjectId),
        sessionId: Schema.optionalKey(SessionId),
        targetId: Schema.optionalKey(DeviceId),
        state: Schema.optionalKey(HubRunStatus)
      },
      success: page(HubRun),
      error: list
    }).annotate(RequiredAuthority, "session.open"),
    HttpApiEndpoint.get("get", "/client/runs/:id", {
      params,
      success: HubRun,
      error: responses("permission_denied")
    }).annotate(RequiredAuthority, "project.read"),
    HttpApiEndpoint.get("events", "/client/runs/:id/events", {
      params,
      query: { after: Schema.optionalKey(After), limit: Limit },
      success: EventPage,
      error: responses("permission_denied", "conflict")
    })
      .annotate(RequiredAuthority, "project.read")
      .annotate(
        OpenApi.Description,
        "The mirrored log after `after`; as on Edge, `text/event-stream` follows it live. `conflict` with the reason `replay_gap` where " +
          "retention has dropped what was asked for: the run says how it ended."
      ),
    HttpApiEndpoint.post("cancel", "/client/runs/:id/cancel", {
      params,
      success: HubRun,
      error: responses(
        "permission_denied",
        "unauthorized_target",
        "target_offline",
        "overloaded",
        "run_not_cancellable"
      )
    }).annotate(RequiredAuthority, "run.cancel"),
    HttpApiEndpoint.post("input", "/client/runs/:id/input", {
      params,
      headers: idempotencyHeaders,
      payload: Schema.Struct({ text: RunInput.fields.text.check(storable) }),
      success: HubRun,
      error: responses(
        "permission_denied",
        "unauthorized_target",
        "target_offline",
        "conflict",
        "overloaded",
        "idempotency_conflict",
        "idempotency_in_flight"
      )
    })
      .annotate(RequiredAuthority, "task.create")
      .annotate(
        OpenApi.Description,
        "A further user message. `conflict` where the run has ended or takes none. With an `Idempotency-Key` it is sent once. If the " +
          "delivery is uncertain, the key stays `idempotency_in_flight`."
      ),
    HttpApiEndpoint.get("approvals", "/client/runs/:id/approvals", {
      params,
      query: listQuery,
      success: page(HubApproval),
      error: list
    }).annotate(RequiredAuthority, "project.read"),
    HttpApiEndpoint.get("diff", "/client/runs/:id/diff", {
      params,
      query: listQuery,
      success: Diff,
      error: routed
    }).annotate(RequiredAuthority, "project.read"),
    HttpApiEndpoint.get("artifacts", "/client/runs/:id/artifacts", {
      params,
      query: listQuery,
      success: page(Artifact),
      error: routed
    }).annotate(RequiredAuthority, "project.read"),
    HttpApiEndpoint.get("artifactContent", "/client/runs/:id/artifacts/:artifactId/content", {
      params: { id: RunId, artifactId: ArtifactId },
      success: HttpApiSchema.StreamUint8Array({ contentType: "application/octet-stream" }),
      error: responses(
        "permission_denied",
        "unauthorized_target",
        "target_offline",
        "payload_too_large",
        "overloaded"
      )
    })
      .annotate(RequiredAuthority, "project.read")
      .annotate(
        OpenApi.Description,
        "The bytes, always as an attachment, in the artifact's own media type; at most 50 MiB. A body that is cut is not the artifact."
      ),
    HttpApiEndpoint.post("openPreview", "/client/runs/:id/previews/:previewId/open", {
      params: { id: RunId, previewId: PreviewId },
      success: OpenedPreview,
      error: responses(
        "permission_denied",
        "unauthorized_target",
        "target_offline",
        "not_found",
        "conflict",
        "overloaded",
        "schema_validation_failed"
      )
    })
      .annotate(RequiredAuthority, "task.create")
      .annotate(
        OpenApi.Description,
        "A fresh address for a browser on the device itself, good once within a minute; nothing that the preview shows goes through the Hub. " +
          "`not_found` where it is closed, `conflict` where the device's Edge is of a version that does not take this."
      )
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
