/**
 * Tasks, created from the console, chats and programs. Each is sent to exactly the target that it names.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { KeyScope, RequiredAuthority } from "../access/EndpointAuthority.ts"
import { responses } from "../errors/ErrorTable.ts"
import { createdWithLocation, idempotencyHeaders } from "../http/Writes.ts"
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
      success: createdWithLocation(Task),
      error: responses(
        "permission_denied",
        "binding_required",
        "conflict",
        "unauthorized_target",
        "target_offline",
        "workspace_outside_allowlist",
        "invalid_agent_id",
        "runtime_unavailable",
        "budget_exceeded",
        "idempotency_conflict",
        "idempotency_in_flight",
        "overloaded"
      )
    })
      .annotate(RequiredAuthority, "task.create")
      .annotate(KeyScope, "write")
      .annotate(
        OpenApi.Description,
        "With `onOffline: queue` the task waits for an offline target. Otherwise it is refused with `target_offline`. `conflict` with the reason " +
          "`edge_outdated` if the budget limits tokens or turns and the Edge of the device is too old to say what its agents count. `budget_exceeded` if a " +
          "limit of the project has too little left today."
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
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(KeyScope, "read"),
    HttpApiEndpoint.get("get", "/client/tasks/:id", {
      params,
      success: Task,
      error: responses("permission_denied")
    })
      .annotate(RequiredAuthority, "project.read")
      .annotate(KeyScope, "read"),
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
    })
      .annotate(RequiredAuthority, "run.cancel")
      .annotate(KeyScope, "write")
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
