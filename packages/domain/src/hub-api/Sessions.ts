/**
 * Sessions with their messages and agents, and the agents that targets offer.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { RequiredAuthority } from "../access/EndpointAuthority.ts"
import { AddAgent, AgentInstance, AgentProfile } from "../run/AgentProfile.ts"
import { responses } from "../errors/ErrorTable.ts"
import { createdResponse } from "../http/Created.ts"
import { idempotencyHeaders } from "../http/IdempotencyKey.ts"
import { AgentInstanceId, ProjectId, SessionId } from "../identity/Ids.ts"
import { CreateMessage, Message } from "../session/Message.ts"
import { listQuery, page } from "../http/Page.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { CreateSession, Session, SessionItem, SessionState, UpdateSession } from "../session/Session.ts"
import { SessionAuthority } from "./SessionAuthority.ts"

const params = { id: SessionId }
const denied = responses("permission_denied")
const list = responses("permission_denied", "schema_validation_failed")
const write = responses("permission_denied", "conflict", "idempotency_conflict", "idempotency_in_flight")

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
    }).annotate(RequiredAuthority, "session.open"),
    HttpApiEndpoint.post("create", "/client/sessions", {
      headers: idempotencyHeaders,
      payload: CreateSession,
      success: Session.pipe(createdResponse),
      error: write
    }).annotate(RequiredAuthority, "session.write"),
    HttpApiEndpoint.get("get", "/client/sessions/:id", { params, success: Session, error: denied }).annotate(
      RequiredAuthority,
      "project.read"
    ),
    HttpApiEndpoint.patch("update", "/client/sessions/:id", {
      params,
      payload: UpdateSession,
      success: Session,
      error: responses("permission_denied", "conflict")
    }).annotate(RequiredAuthority, "session.write"),
    HttpApiEndpoint.get("messages", "/client/sessions/:id/messages", {
      params,
      query: listQuery,
      success: page(Message),
      error: list
    }).annotate(RequiredAuthority, "project.read"),
    HttpApiEndpoint.post("addMessage", "/client/sessions/:id/messages", {
      params,
      headers: idempotencyHeaders,
      payload: CreateMessage,
      success: Message.pipe(createdResponse),
      error: write
    }).annotate(RequiredAuthority, "session.write"),
    HttpApiEndpoint.get("agents", "/client/sessions/:id/agents", {
      params,
      query: listQuery,
      success: page(AgentInstance),
      error: list
    }).annotate(RequiredAuthority, "project.read"),
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
        "idempotency_conflict",
        "idempotency_in_flight"
      )
    }).annotate(RequiredAuthority, "session.write"),
    HttpApiEndpoint.delete("removeAgent", "/client/sessions/:id/agents", {
      params,
      query: { agentInstanceId: AgentInstanceId },
      success: HttpApiSchema.NoContent,
      error: responses("permission_denied", "conflict")
    }).annotate(RequiredAuthority, "session.write"),
    HttpApiEndpoint.get("inventory", "/client/agents", {
      query: listQuery,
      success: page(AgentProfile),
      error: list
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(OpenApi.Description, "Runtimes and profiles that the caller's targets offer.")
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
