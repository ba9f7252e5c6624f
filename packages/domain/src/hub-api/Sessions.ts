/** Sessions with their messages and agents, their read positions, exports and forks, and the agents that targets offer. */
import { KeyScope, RequiredAuthority } from "../access/EndpointAuthority.ts"
import { responses } from "../errors/ErrorTable.ts"
import { After } from "../http/EventStream.ts"
import { listQuery, page } from "../http/Page.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { createdResponse, idempotencyHeaders } from "../http/Writes.ts"
import { AgentInstanceId, MessageId, ProjectId, SessionId } from "../identity/Ids.ts"
import { AddAgent, AgentInstance, AgentProfile, UpdateAgent } from "../run/AgentProfile.ts"
import { CreateMessage, Message, UpdateMessage } from "../session/Message.ts"
import {
  CreateSession,
  ExportFormat,
  ForkSession,
  MarkRead,
  ReadPosition,
  Session,
  SessionItem,
  SessionState,
  UpdateSession
} from "../session/Session.ts"
import { SessionAuthority } from "./SessionAuthority.ts"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"

const params = { id: SessionId }
const denied = responses("permission_denied")
const list = responses("permission_denied", "schema_validation_failed")
const write = responses("permission_denied", "conflict", "idempotency_conflict", "idempotency_in_flight")

const messageParams = { id: SessionId, messageId: MessageId }
/** Why a message to an agent is refused: by the caller's authority, or by what its target offers. */
const sendingErrors = [
  "permission_denied",
  "conflict",
  "schema_validation_failed",
  "payload_too_large",
  "invalid_agent_id",
  "unauthorized_target",
  "workspace_outside_allowlist",
  "runtime_unavailable",
  "target_offline",
  "overloaded"
] as const
const ADDRESSED =
  "A note needs a role that may write in the session. A message to an agent also needs what a task needs: the target and the workspace. Both " +
  "are checked again at delivery."

export class HubSessions extends HttpApiGroup.make("sessions")
  .add(
    HttpApiEndpoint.get("list", "/client/sessions", {
      query: {
        ...listQuery,
        projectId: Schema.optionalKey(ProjectId),
        state: Schema.optionalKey(SessionState)
      },
      success: page(SessionItem),
      error: list
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(KeyScope, "read"),
    HttpApiEndpoint.post("create", "/client/sessions", {
      headers: idempotencyHeaders,
      payload: CreateSession,
      success: Session.pipe(createdResponse),
      error: write
    })
      .annotate(RequiredAuthority, "session.write")
      .annotate(KeyScope, "write"),
    HttpApiEndpoint.get("get", "/client/sessions/:id", { params, success: Session, error: denied })
      .annotate(RequiredAuthority, "project.read")
      .annotate(KeyScope, "read"),
    HttpApiEndpoint.patch("update", "/client/sessions/:id", {
      params,
      payload: UpdateSession,
      success: Session,
      error: responses("permission_denied", "conflict")
    })
      .annotate(RequiredAuthority, "session.write")
      .annotate(KeyScope, "write"),
    HttpApiEndpoint.get("messages", "/client/sessions/:id/messages", {
      params,
      query: { ...listQuery, changedAfter: Schema.optionalKey(After) },
      success: page(Message),
      error: list
    })
      .annotate(RequiredAuthority, "project.read")
      .annotate(KeyScope, "read")
      .annotate(
        OpenApi.Description,
        "Newest first. With `changedAfter`, the messages with a later `version`, in the order of their versions."
      ),
    HttpApiEndpoint.get("message", "/client/sessions/:id/messages/:messageId", {
      params: messageParams,
      success: Message,
      error: denied
    })
      .annotate(RequiredAuthority, "project.read")
      .annotate(KeyScope, "read"),
    HttpApiEndpoint.post("addMessage", "/client/sessions/:id/messages", {
      params,
      headers: idempotencyHeaders,
      payload: CreateMessage,
      success: Message.pipe(createdResponse),
      error: responses(...sendingErrors, "idempotency_conflict", "idempotency_in_flight")
    })
      .annotate(RequiredAuthority, "session.write")
      .annotate(KeyScope, "write")
      .annotate(OpenApi.Description, ADDRESSED),
    HttpApiEndpoint.patch("updateMessage", "/client/sessions/:id/messages/:messageId", {
      params: messageParams,
      payload: UpdateMessage,
      success: Message,
      error: responses(...sendingErrors)
    })
      .annotate(RequiredAuthority, "session.write")
      .annotate(KeyScope, "write")
      .annotate(
        OpenApi.Description,
        "Changes a pending message that no target has yet. Fails with `conflict` if the message has another version."
      ),
    HttpApiEndpoint.post("withdrawMessage", "/client/sessions/:id/messages/:messageId/withdraw", {
      params: messageParams,
      success: Message,
      error: responses("permission_denied", "conflict")
    })
      .annotate(RequiredAuthority, "session.write")
      .annotate(KeyScope, "write")
      .annotate(OpenApi.Description, "Withdraws a pending message that no target has yet."),
    HttpApiEndpoint.post("retryMessage", "/client/sessions/:id/messages/:messageId/retry", {
      params: messageParams,
      headers: idempotencyHeaders,
      success: Message,
      error: responses(...sendingErrors, "idempotency_conflict", "idempotency_in_flight")
    })
      .annotate(RequiredAuthority, "session.write")
      .annotate(KeyScope, "write")
      .annotate(OpenApi.Description, "Delivers a failed message again, under the same id."),
    HttpApiEndpoint.get("agents", "/client/sessions/:id/agents", {
      params,
      query: listQuery,
      success: page(AgentInstance),
      error: list
    })
      .annotate(RequiredAuthority, "project.read")
      .annotate(KeyScope, "read"),
    HttpApiEndpoint.post("addAgent", "/client/sessions/:id/agents", {
      params,
      headers: idempotencyHeaders,
      payload: AddAgent,
      success: AgentInstance.pipe(createdResponse),
      error: responses(
        "permission_denied",
        "invalid_agent_id",
        "unauthorized_target",
        "workspace_outside_allowlist",
        "conflict",
        "schema_validation_failed",
        "idempotency_conflict",
        "idempotency_in_flight"
      )
    })
      .annotate(RequiredAuthority, "session.write")
      .annotate(KeyScope, "write"),
    HttpApiEndpoint.patch("updateAgent", "/client/sessions/:id/agents/:agentInstanceId", {
      params: { id: SessionId, agentInstanceId: AgentInstanceId },
      payload: UpdateAgent,
      success: AgentInstance,
      error: responses("permission_denied", "conflict", "schema_validation_failed")
    })
      .annotate(RequiredAuthority, "session.write")
      .annotate(KeyScope, "write")
      .annotate(
        OpenApi.Description,
        "Changes the limits of the agent's later turns. Messages that were sent before keep theirs."
      ),
    HttpApiEndpoint.delete("removeAgent", "/client/sessions/:id/agents", {
      params,
      query: { agentInstanceId: AgentInstanceId },
      success: HttpApiSchema.NoContent,
      error: responses("permission_denied", "conflict")
    })
      .annotate(RequiredAuthority, "session.write")
      .annotate(KeyScope, "write"),
    HttpApiEndpoint.post("continueAgent", "/client/sessions/:id/agents/:agentInstanceId/continue", {
      params: { id: SessionId, agentInstanceId: AgentInstanceId },
      success: AgentInstance,
      error: responses(...sendingErrors)
    })
      .annotate(RequiredAuthority, "session.write")
      .annotate(KeyScope, "write")
      .annotate(
        OpenApi.Description,
        "Delivers the messages of a held queue in their order. The caller needs what the author of each needs. Without held messages it changes " +
          "nothing."
      ),
    HttpApiEndpoint.get("inventory", "/client/agents", {
      query: listQuery,
      success: page(AgentProfile),
      error: list
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(KeyScope, "read")
      .annotate(OpenApi.Description, "Runtimes and profiles that the caller's targets offer.")
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}

/** Read positions, exports and forks of sessions. */
export class HubConversations extends HttpApiGroup.make("conversations")
  .add(
    HttpApiEndpoint.post("read", "/client/sessions/:id/read", {
      params,
      payload: MarkRead,
      success: ReadPosition,
      error: responses("permission_denied", "schema_validation_failed")
    })
      .annotate(RequiredAuthority, "project.read")
      .annotate(KeyScope, "write")
      .annotate(
        OpenApi.Description,
        "Moves the caller's read position to a message. A position never moves back: an earlier message changes nothing."
      ),
    HttpApiEndpoint.get("export", "/client/sessions/:id/export", {
      params,
      query: { format: ExportFormat },
      success: HttpApiSchema.StreamUint8Array({ contentType: ["text/markdown", "application/json"] }),
      error: responses("permission_denied", "schema_validation_failed")
    })
      .annotate(RequiredAuthority, "project.read")
      .annotate(KeyScope, "read")
      .annotate(
        OpenApi.Description,
        "The conversation, oldest message first, as a file: names of the authors, times, texts, and runs with their states. In Markdown, texts are " +
          "code blocks, so they can't change the structure of the document."
      ),
    HttpApiEndpoint.post("fork", "/client/sessions/:id/fork", {
      params,
      headers: idempotencyHeaders,
      payload: ForkSession,
      success: Session.pipe(createdResponse),
      error: responses("permission_denied", "conflict", "idempotency_conflict", "idempotency_in_flight")
    })
      .annotate(RequiredAuthority, "session.write")
      .annotate(KeyScope, "write")
      .annotate(
        OpenApi.Description,
        "Starts a new session of the same project with the conversation up to a message. Messages that reached no agent are left out, and nothing is " +
          "delivered again. The agents are copied; their next turn begins with a transcript."
      )
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
