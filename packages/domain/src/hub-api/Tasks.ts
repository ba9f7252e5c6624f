/**
 * Tasks: made by web and chat, routed to the exact target that they name.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { RequiredAuthority } from "../access/EndpointAuthority.ts"
import { responses } from "../errors/ErrorTable.ts"
import { idempotencyHeaders } from "../http/IdempotencyKey.ts"
import { ProjectId, SessionId, TaskId } from "../identity/Ids.ts"
import { listQuery, page } from "../http/Page.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { CreateTask, Task, TaskState } from "../task/Task.ts"
import { SessionAuthority } from "./SessionAuthority.ts"

const params = { id: TaskId }

export class HubTasks extends HttpApiGroup.make("tasks")
  .add(
    HttpApiEndpoint.post("create", "/web/agent-tasks", {
      headers: idempotencyHeaders,
      payload: CreateTask,
      success: HttpApiSchema.WithHeaders(Task.pipe(HttpApiSchema.status(201)), { location: Schema.String }),
      error: responses(
        "permission_denied",
        "binding_required",
        "unauthorized_target",
        "target_offline",
        "workspace_outside_allowlist",
        "invalid_agent_id",
        "runtime_unavailable",
        "idempotency_conflict",
        "idempotency_in_flight"
      )
    })
      .annotate(RequiredAuthority, "task.create")
      .annotate(
        OpenApi.Description,
        "`onOffline: queue` waits for the target; otherwise an offline one is refused."
      ),
    HttpApiEndpoint.get("list", "/client/tasks", {
      query: {
        ...listQuery,
        projectId: Schema.optionalKey(ProjectId),
        sessionId: Schema.optionalKey(SessionId),
        state: Schema.optionalKey(TaskState)
      },
      success: page(Task),
      error: responses("permission_denied", "schema_validation_failed")
    }).annotate(RequiredAuthority, "session.open"),
    HttpApiEndpoint.get("get", "/client/tasks/:id", {
      params,
      success: Task,
      error: responses("permission_denied")
    }).annotate(RequiredAuthority, "project.read"),
    HttpApiEndpoint.post("cancel", "/client/tasks/:id/cancel", {
      params,
      success: Task,
      error: responses(
        "permission_denied",
        "unauthorized_target",
        "run_not_cancellable",
        "target_offline",
        "overloaded"
      )
    }).annotate(RequiredAuthority, "run.cancel")
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
