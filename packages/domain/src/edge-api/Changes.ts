/** Change sets of runs, and decisions about them. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { originHeaders } from "../approval/Approval.ts"
import {
  AcceptChanges,
  ChangedFileContent,
  ChangeSetPage,
  DecidedChanges,
  RejectChanges,
  UndoChanges
} from "./ChangeSet.ts"
import { responses } from "../errors/ErrorTable.ts"
import { idempotencyHeaders } from "../http/Writes.ts"
import { listQuery } from "../http/Page.ts"
import { BearerAuthority, RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { ChangedFileId, RunId } from "../identity/Ids.ts"

const params = { id: RunId }
const headers = { ...idempotencyHeaders, ...originHeaders }
const readErrors = responses(
  "not_found",
  "changes_unknown",
  "permission_denied",
  "workspace_outside_allowlist",
  "schema_validation_failed"
)

/** Lines of context of a hunk, on each side. Ids always count with three. */
export const ContextLines = Schema.NumberFromString.check(
  Schema.isInt(),
  Schema.isBetween({ minimum: 3, maximum: 1_000 })
)

/** Codes of decisions at an Edge and at a Hub. */
export const changeDecisionCodes = [
  "not_found",
  "permission_denied",
  "run_active",
  "changes_outdated",
  "merge_conflict",
  "changes_unknown",
  "conflict",
  "schema_validation_failed",
  "idempotency_conflict",
  "idempotency_in_flight",
  "overloaded"
] as const

export const CHANGES_TEXT =
  "The undecided changes of the run's layer or worktree, or of the run itself, compared with their base. Files are ordered by the bytes of " +
  "their paths."
export const ACCEPT_TEXT =
  "Writes these parts into the workspace, all or nothing, and hunks of `edits` as they were edited. `run_active` while a run of the set is live; `changes_outdated` if a named part has " +
  "changed; `merge_conflict` with both sides if the workspace has other changes at the same place."
export const REJECT_TEXT =
  "Takes these parts out of the layer. The agent hears of them, with the comments and suggestions, in the next message."
export const UNDO_TEXT =
  "Reverses an acceptance, a rejection, or what the run wrote directly. `merge_conflict` with both sides if the files have changed since."

const decisionErrors = responses(...changeDecisionCodes, "workspace_outside_allowlist")

export class EdgeChanges extends HttpApiGroup.make("changes")
  .add(
    HttpApiEndpoint.get("get", "/v1/runs/:id/changes", {
      params,
      query: listQuery,
      success: ChangeSetPage,
      error: readErrors
    }).annotate(OpenApi.Description, CHANGES_TEXT),
    HttpApiEndpoint.get("file", "/v1/runs/:id/changes/files/:fileId", {
      params: { ...params, fileId: ChangedFileId },
      query: { ...listQuery, context: Schema.optionalKey(ContextLines) },
      success: ChangedFileContent,
      error: readErrors
    }),
    HttpApiEndpoint.post("accept", "/v1/runs/:id/changes/accept", {
      params,
      headers,
      payload: AcceptChanges,
      success: DecidedChanges,
      error: decisionErrors
    }).annotate(OpenApi.Description, ACCEPT_TEXT),
    HttpApiEndpoint.post("reject", "/v1/runs/:id/changes/reject", {
      params,
      headers,
      payload: RejectChanges,
      success: DecidedChanges,
      error: decisionErrors
    }).annotate(OpenApi.Description, REJECT_TEXT),
    HttpApiEndpoint.post("undo", "/v1/runs/:id/changes/undo", {
      params,
      headers,
      payload: UndoChanges,
      success: DecidedChanges,
      error: decisionErrors
    }).annotate(OpenApi.Description, UNDO_TEXT)
  )
  .middleware(SchemaErrors)
  .middleware(BearerAuthority)
  .middleware(RequestIds) {}
