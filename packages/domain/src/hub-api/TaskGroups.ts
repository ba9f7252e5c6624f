/**
 * Groups of tasks: candidates for one message, on the same files. They are compared, stopped and paused together, and one of them is continued.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { KeyScope, RequiredAuthority } from "../access/EndpointAuthority.ts"
import { ChangedFile } from "../edge-api/ChangeSet.ts"
import { responses } from "../errors/ErrorTable.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { idempotencyHeaders } from "../http/Writes.ts"
import {
  AgentInstanceId,
  ChangedFileId,
  DeviceId,
  ProjectId,
  RunId,
  SessionId,
  TaskGroupId,
  TaskId,
  UserId,
  WorkspaceId
} from "../identity/Ids.ts"
import { Isolation, RunInput, Usage } from "../run/Run.ts"
import { Task } from "../task/Task.ts"
import { ChangeSetSummary, HubRun } from "./HubRun.ts"
import { SessionAuthority } from "./SessionAuthority.ts"

/** Days that undecided changes of the other candidates can be read after one was continued. */
export const CLOSED_CANDIDATE_DAYS = 7
/** Files of each candidate in a comparison, and characters of their paths. */
export const MAX_COMPARED_FILES = 1_000
export const MAX_COMPARED_PATHS = 262_144

/** A candidate: its task, its agent in the session, and what its runs have so far. */
export const GroupCandidate = Schema.Struct({
  task: Task,
  agentInstanceId: AgentInstanceId,
  label: Schema.String,
  /** The newest run. Absent while the task waits. */
  run: Schema.optionalKey(HubRun),
  /** Number of its runs: the first one and further turns. */
  runs: Schema.Int,
  /** Of all its runs. Absent if none has reported any. */
  usage: Schema.optionalKey(Usage),
  /** Milliseconds of its ended runs, from creation to end. */
  durationMs: Schema.Int,
  /** Absent if the Edge has reported none. It has the results of the checks. */
  changes: Schema.optionalKey(ChangeSetSummary),
  /** Another candidate was continued. */
  closed: Schema.optionalKey(Schema.Literal(true)),
  /** What was undecided has been removed. */
  removedAt: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "GroupCandidate" })
export type GroupCandidate = typeof GroupCandidate.Type

/** A group, in the order of its candidates. Times are ISO 8601. */
export const TaskGroup = Schema.Struct({
  id: TaskGroupId,
  projectId: ProjectId,
  sessionId: SessionId,
  targetId: DeviceId,
  workspace: WorkspaceId,
  isolation: Isolation,
  input: RunInput,
  candidates: Schema.Array(GroupCandidate),
  /** The candidate that is continued. Absent until then. */
  continuedTaskId: Schema.optionalKey(TaskId),
  continuedBy: Schema.optionalKey(UserId),
  continuedAt: Schema.optionalKey(Schema.String),
  /** When undecided changes of the other candidates are removed. */
  removeAt: Schema.optionalKey(Schema.String),
  createdBy: UserId,
  createdAt: Schema.String
}).annotate({ identifier: "TaskGroup" })
export type TaskGroup = typeof TaskGroup.Type

/** What a command to a group did. `refused`: candidates that it did not reach. Those that need nothing are left out. */
export const GroupOutcome = Schema.Struct({
  group: TaskGroup,
  refused: Schema.Array(Schema.Struct({ taskId: TaskId, code: Schema.String, message: Schema.String }))
}).annotate({ identifier: "GroupOutcome" })
export type GroupOutcome = typeof GroupOutcome.Type

/** A file that at least one candidate changes. `same`: all compared candidates give it the same content and mode. */
export const ComparedFile = Schema.Struct({
  id: ChangedFileId,
  path: Schema.String,
  same: Schema.optionalKey(Schema.Literal(true)),
  /** In the order of the candidates. Candidates that do not change the file are left out. */
  changes: Schema.Array(Schema.Struct({ taskId: TaskId, runId: RunId, file: ChangedFile }))
}).annotate({ identifier: "ComparedFile" })
export type ComparedFile = typeof ComparedFile.Type

/**
 * What of a candidate was compared. `compared`: its undecided changes. `none`: it has no undecided changes. `failed`: the Edge could not
 * read them, and `reason` says why.
 */
export const ComparedCandidate = Schema.Struct({
  taskId: TaskId,
  state: Schema.Literals(["compared", "none", "failed"]),
  /** Where its files and hunks are read. */
  runId: Schema.optionalKey(RunId),
  /** Version of its change set. */
  version: Schema.optionalKey(Schema.String),
  /** Whether only its first files were compared. */
  truncated: Schema.optionalKey(Schema.Literal(true)),
  reason: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "ComparedCandidate" })
export type ComparedCandidate = typeof ComparedCandidate.Type

/** Undecided changes of all candidates, by file, in the order of the paths. */
export const GroupComparison = Schema.Struct({
  groupId: TaskGroupId,
  candidates: Schema.Array(ComparedCandidate),
  files: Schema.Array(ComparedFile)
}).annotate({ identifier: "GroupComparison" })
export type GroupComparison = typeof GroupComparison.Type

/** Changed files of one candidate. */
export interface CandidateFiles {
  readonly taskId: TaskId
  readonly runId: RunId
  readonly files: ReadonlyArray<ChangedFile>
}

/** Compares changed files of the candidates that have changes, by path. Of a single one, nothing is `same`. */
export const compareFiles = (candidates: ReadonlyArray<CandidateFiles>): ReadonlyArray<ComparedFile> => {
  const byFile = new Map<ChangedFileId, Array<ComparedFile["changes"][number]>>()
  for (const { files, runId, taskId } of candidates)
    for (const file of files) {
      const changes = byFile.get(file.id)
      if (changes === undefined) byFile.set(file.id, [{ taskId, runId, file }])
      else changes.push({ taskId, runId, file })
    }
  const isSame = (changes: ComparedFile["changes"]): boolean => {
    const [first] = changes
    return (
      candidates.length > 1 &&
      changes.length === candidates.length &&
      changes.every(
        ({ file: { fromPath, result, status } }) =>
          status === first?.file.status &&
          fromPath === first.file.fromPath &&
          (status === "deleted" || (result !== undefined && result === first.file.result))
      )
    )
  }
  return [...byFile]
    .map(([id, changes]): ComparedFile => ({
      id,
      path: changes[0]?.file.path ?? "",
      ...(isSame(changes) ? { same: true } : {}),
      changes
    }))
    .toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))
}

const params = { id: TaskGroupId }
const denied = responses("permission_denied")
const command = responses("permission_denied", "unauthorized_target", "overloaded")

const EACH =
  "Each candidate as by its own command; `refused` names those that the command did not reach, with the code of the refusal."

export class HubTaskGroups extends HttpApiGroup.make("taskGroups")
  .add(
    HttpApiEndpoint.get("get", "/client/task-groups/:id", { params, success: TaskGroup, error: denied })
      .annotate(RequiredAuthority, "project.read")
      .annotate(KeyScope, "read"),
    HttpApiEndpoint.get("comparison", "/client/task-groups/:id/comparison", {
      params,
      success: GroupComparison,
      error: responses("permission_denied", "unauthorized_target", "target_offline", "overloaded", "conflict")
    })
      .annotate(RequiredAuthority, "project.read")
      .annotate(KeyScope, "read")
      .annotate(
        OpenApi.Description,
        "Undecided changes of all candidates, read at the Edge. Files that all candidates change in the same way are marked."
      ),
    HttpApiEndpoint.post("stop", "/client/task-groups/:id/stop", {
      params,
      success: GroupOutcome,
      error: command
    })
      .annotate(RequiredAuthority, "run.cancel")
      .annotate(KeyScope, "write")
      .annotate(OpenApi.Description, `Stops what is in progress and withdraws what waits. ${EACH}`),
    HttpApiEndpoint.post("pause", "/client/task-groups/:id/pause", {
      params,
      success: GroupOutcome,
      error: command
    })
      .annotate(RequiredAuthority, "run.pause")
      .annotate(KeyScope, "write")
      .annotate(
        OpenApi.Description,
        `Pauses runs in progress. Candidates that wait continue to wait. ${EACH}`
      ),
    HttpApiEndpoint.post("resume", "/client/task-groups/:id/resume", {
      params,
      success: GroupOutcome,
      error: command
    })
      .annotate(RequiredAuthority, "run.resume")
      .annotate(KeyScope, "write")
      .annotate(OpenApi.Description, `Resumes paused runs. ${EACH}`),
    HttpApiEndpoint.post("continue", "/client/task-groups/:id/continue", {
      params,
      headers: idempotencyHeaders,
      payload: Schema.Struct({ taskId: TaskId }),
      success: GroupOutcome,
      error: responses(
        "permission_denied",
        "unauthorized_target",
        "conflict",
        "schema_validation_failed",
        "idempotency_conflict",
        "idempotency_in_flight",
        "overloaded"
      )
    })
      .annotate(RequiredAuthority, "session.write")
      .annotate(
        OpenApi.Description,
        "Continues with one candidate: its agent becomes the session's default. The others are stopped and closed. They receive no messages, can be " +
          `read, and their changes can be decided for ${CLOSED_CANDIDATE_DAYS} days; then what is undecided is removed. \`conflict\` if another one is continued.`
      )
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
