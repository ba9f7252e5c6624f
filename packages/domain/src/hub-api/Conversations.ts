/** Read positions, exports and forks of sessions. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { KeyScope, RequiredAuthority } from "../access/EndpointAuthority.ts"
import { responses } from "../errors/ErrorTable.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { SessionId } from "../identity/Ids.ts"
import { createdResponse } from "../http/Created.ts"
import { idempotencyHeaders } from "../http/IdempotencyKey.ts"
import { ExportFormat, ForkSession, MarkRead, ReadPosition } from "../session/Conversation.ts"
import { Session } from "../session/Session.ts"
import { SessionAuthority } from "./SessionAuthority.ts"

const params = { id: SessionId }

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
