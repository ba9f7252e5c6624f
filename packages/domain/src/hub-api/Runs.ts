/**
 * Runs as the Hub mirrors them. Events come from the Hub's log. Other reads and commands are sent to the Edge and authorized each time.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { KeyScope, RequiredAuthority } from "../access/EndpointAuthority.ts"
import { Artifact } from "../run/Artifact.ts"
import { Diff } from "../edge-api/Diff.ts"
import { responses } from "../errors/ErrorTable.ts"
import { After } from "../http/EventStream.ts"
import { HubApproval, HubRun, HubRunStatus } from "./HubRun.ts"
import { idempotencyHeaders } from "../http/Writes.ts"
import { ArtifactId, DeviceId, PreviewId, ProjectId, RunId, SessionId } from "../identity/Ids.ts"
import { Limit, listQuery, page } from "../http/Page.ts"
import { OpenedPreview } from "../device/Preview.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { RunInput } from "../run/Run.ts"
import { FINISH_TEXT, PAUSE_TEXT, RESUME_TEXT } from "../run/RunRefusals.ts"
import { EventPage } from "../edge-api/Runs.ts"
import { isStorableText } from "../text/Text.ts"
import { SessionAuthority } from "./SessionAuthority.ts"

const params = { id: RunId }
const list = responses("permission_denied", "schema_validation_failed")
const routedCodes = [
  "permission_denied",
  "unauthorized_target",
  "target_offline",
  "overloaded",
  "schema_validation_failed"
] as const
const routed = responses(...routedCodes)

const pauseErrors = responses(
  "permission_denied",
  "unauthorized_target",
  "target_offline",
  "overloaded",
  "conflict"
)

export class HubRuns extends HttpApiGroup.make("runs")
  .add(
    HttpApiEndpoint.get("list", "/client/runs", {
      query: {
        ...listQuery,
        projectId: Schema.optionalKey(ProjectId),
        sessionId: Schema.optionalKey(SessionId),
        targetId: Schema.optionalKey(DeviceId),
        state: Schema.optionalKey(HubRunStatus),
        replaced: Schema.optionalKey(Schema.Literals(["true", "false"]))
      },
      success: page(HubRun),
      error: list
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(KeyScope, "read")
      .annotate(
        OpenApi.Description,
        "Newest first. Without `replaced=true`, runs are left out that another run replaces automatically."
      ),
    HttpApiEndpoint.get("get", "/client/runs/:id", {
      params,
      success: HubRun,
      error: responses("permission_denied")
    })
      .annotate(RequiredAuthority, "project.read")
      .annotate(KeyScope, "read"),
    HttpApiEndpoint.get("events", "/client/runs/:id/events", {
      params,
      query: { after: Schema.optionalKey(After), limit: Limit },
      success: EventPage,
      error: responses("permission_denied", "conflict")
    })
      .annotate(RequiredAuthority, "project.read")
      .annotate(KeyScope, "read")
      .annotate(
        OpenApi.Description,
        "Mirrored events after `after`. With `Accept: text/event-stream` the response is a live stream, as at an Edge. `conflict` with the " +
          "reason `replay_gap` if retention has deleted these events; the run still has its outcome."
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
    })
      .annotate(RequiredAuthority, "run.cancel")
      .annotate(KeyScope, "write"),
    HttpApiEndpoint.post("pause", "/client/runs/:id/pause", { params, success: HubRun, error: pauseErrors })
      .annotate(RequiredAuthority, "run.pause")
      .annotate(KeyScope, "write")
      .annotate(OpenApi.Description, PAUSE_TEXT),
    HttpApiEndpoint.post("resume", "/client/runs/:id/resume", { params, success: HubRun, error: pauseErrors })
      .annotate(RequiredAuthority, "run.resume")
      .annotate(KeyScope, "write")
      .annotate(OpenApi.Description, RESUME_TEXT),
    HttpApiEndpoint.post("finish", "/client/runs/:id/finish", { params, success: HubRun, error: pauseErrors })
      .annotate(RequiredAuthority, "run.finish")
      .annotate(
        OpenApi.Description,
        `${FINISH_TEXT} \`edge_outdated\` if the Edge is too old. A person finishes runs, so an API key can't.`
      ),
    HttpApiEndpoint.post("input", "/client/runs/:id/input", {
      params,
      headers: idempotencyHeaders,
      payload: Schema.Struct({ text: RunInput.fields.text.check(isStorableText) }),
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
      .annotate(KeyScope, "write")
      .annotate(
        OpenApi.Description,
        "Sends a further user message. `conflict` if the run has ended or its runtime does not accept messages. With an `Idempotency-Key` " +
          "it is sent once. If the delivery is uncertain, the key stays `idempotency_in_flight`."
      ),
    HttpApiEndpoint.get("approvals", "/client/runs/:id/approvals", {
      params,
      query: listQuery,
      success: page(HubApproval),
      error: list
    })
      .annotate(RequiredAuthority, "project.read")
      .annotate(KeyScope, "read"),
    HttpApiEndpoint.get("diff", "/client/runs/:id/diff", {
      params,
      query: listQuery,
      success: Diff,
      error: responses(...routedCodes, "changes_unknown")
    })
      .annotate(RequiredAuthority, "project.read")
      .annotate(KeyScope, "read"),
    HttpApiEndpoint.get("artifacts", "/client/runs/:id/artifacts", {
      params,
      query: listQuery,
      success: page(Artifact),
      error: routed
    })
      .annotate(RequiredAuthority, "project.read")
      .annotate(KeyScope, "read"),
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
      .annotate(KeyScope, "read")
      .annotate(
        OpenApi.Description,
        "The content as an attachment with the artifact's media type, at most 50 MiB. The artifact is incomplete if the response is cut off."
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
      .annotate(KeyScope, "write")
      .annotate(
        OpenApi.Description,
        "Returns an address for a browser on the device, valid once and for one minute. The content of the preview does not pass through the " +
          "Hub. `not_found` if the preview is closed; `conflict` if the version of the device's Edge does not support this."
      )
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
