/**
 * Change sets of runs, and decisions about them. What a set has now is read at the Edge; lists come from the Hub's mirror.
 *
 * Of two people who decide about the same part, the first one wins; the other receives `changes_outdated`.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { KeyScope, RequiredAuthority } from "../access/EndpointAuthority.ts"
import { originHeaders } from "../approval/Approval.ts"
import {
  AcceptChanges,
  ChangedFileContent,
  ChangeSetPage,
  ChangeSetState,
  DecidedChanges,
  RejectChanges,
  UndoChanges
} from "../edge-api/ChangeSet.ts"
import {
  ACCEPT_TEXT,
  changeDecisionCodes,
  CHANGES_TEXT,
  ContextLines,
  REJECT_TEXT,
  UNDO_TEXT
} from "../edge-api/Changes.ts"
import { responses } from "../errors/ErrorTable.ts"
import { idempotencyHeaders } from "../http/Writes.ts"
import { listQuery, page } from "../http/Page.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { ChangedFileId, ChangeSetId, ProjectId, RunId, SessionId } from "../identity/Ids.ts"
import { HubChangeSet } from "./HubRun.ts"
import { SessionAuthority } from "./SessionAuthority.ts"

const params = { id: RunId }
const ofSession = { id: SessionId }
const named = { changeSetId: ChangeSetId }
const headers = { ...idempotencyHeaders, ...originHeaders }
const list = responses("permission_denied", "schema_validation_failed")

const context = Schema.optionalKey(ContextLines)

const readErrors = responses(
  "permission_denied",
  "unauthorized_target",
  "target_offline",
  "overloaded",
  "not_found",
  "changes_unknown",
  "workspace_outside_allowlist",
  "payload_too_large",
  "conflict",
  "schema_validation_failed"
)

const decisionErrors = responses(
  ...changeDecisionCodes,
  "unauthorized_target",
  "target_offline",
  "workspace_outside_allowlist",
  "payload_too_large"
)

const OUTDATED =
  "`conflict` with the reason `edge_outdated` if the version of the device's Edge does not support this."
const WHO =
  "The project's policy for approvals says who decides: the requesters are the users whose messages reached a run that made the undecided changes. " +
  "A person decides, so an API key can't."

export class HubChanges extends HttpApiGroup.make("changeSets")
  .add(
    HttpApiEndpoint.get("list", "/client/changes", {
      query: {
        ...listQuery,
        projectId: Schema.optionalKey(ProjectId),
        state: Schema.optionalKey(ChangeSetState)
      },
      success: page(HubChangeSet),
      error: list
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(KeyScope, "read")
      .annotate(OpenApi.Description, "Change sets as their Edges last reported them, newest first."),
    HttpApiEndpoint.get("get", "/client/runs/:id/changes", {
      params,
      query: listQuery,
      success: ChangeSetPage,
      error: readErrors
    })
      .annotate(RequiredAuthority, "project.read")
      .annotate(KeyScope, "read")
      .annotate(OpenApi.Description, `${CHANGES_TEXT} ${OUTDATED}`),
    HttpApiEndpoint.get("file", "/client/runs/:id/changes/files/:fileId", {
      params: { ...params, fileId: ChangedFileId },
      query: { ...listQuery, context },
      success: ChangedFileContent,
      error: readErrors
    })
      .annotate(RequiredAuthority, "project.read")
      .annotate(KeyScope, "read"),
    HttpApiEndpoint.post("accept", "/client/runs/:id/changes/accept", {
      params,
      headers,
      payload: AcceptChanges,
      success: DecidedChanges,
      error: decisionErrors
    })
      .annotate(RequiredAuthority, "changes.decide")
      .annotate(OpenApi.Description, `${ACCEPT_TEXT} ${WHO}`),
    HttpApiEndpoint.post("reject", "/client/runs/:id/changes/reject", {
      params,
      headers,
      payload: RejectChanges,
      success: DecidedChanges,
      error: decisionErrors
    })
      .annotate(RequiredAuthority, "changes.decide")
      .annotate(OpenApi.Description, `${REJECT_TEXT} ${WHO}`),
    HttpApiEndpoint.post("undo", "/client/runs/:id/changes/undo", {
      params,
      headers,
      payload: UndoChanges,
      success: DecidedChanges,
      error: decisionErrors
    })
      .annotate(RequiredAuthority, "changes.decide")
      .annotate(OpenApi.Description, `${UNDO_TEXT} ${WHO}`),
    HttpApiEndpoint.get("ofSession", "/client/sessions/:id/changes", {
      params: ofSession,
      query: {
        ...listQuery,
        changeSetId: Schema.optionalKey(ChangeSetId),
        state: Schema.optionalKey(ChangeSetState)
      },
      success: page(HubChangeSet),
      error: list
    })
      .annotate(RequiredAuthority, "project.read")
      .annotate(KeyScope, "read")
      .annotate(
        OpenApi.Description,
        "Change sets of the session as their Edges last reported them, newest first. `runId` of a set is where its files are read."
      ),
    HttpApiEndpoint.post("acceptInSession", "/client/sessions/:id/changes/accept", {
      params: ofSession,
      query: named,
      headers,
      payload: AcceptChanges,
      success: DecidedChanges,
      error: decisionErrors
    })
      .annotate(RequiredAuthority, "changes.decide")
      .annotate(OpenApi.Description, `${ACCEPT_TEXT} ${WHO}`),
    HttpApiEndpoint.post("rejectInSession", "/client/sessions/:id/changes/reject", {
      params: ofSession,
      query: named,
      headers,
      payload: RejectChanges,
      success: DecidedChanges,
      error: decisionErrors
    })
      .annotate(RequiredAuthority, "changes.decide")
      .annotate(OpenApi.Description, `${REJECT_TEXT} ${WHO}`),
    HttpApiEndpoint.post("undoInSession", "/client/sessions/:id/changes/undo", {
      params: ofSession,
      query: named,
      headers,
      payload: UndoChanges,
      success: DecidedChanges,
      error: decisionErrors
    })
      .annotate(RequiredAuthority, "changes.decide")
      .annotate(OpenApi.Description, `${UNDO_TEXT} ${WHO}`)
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
