/**
 * Chat: what a Gateway tells the Hub, and how a person links a chat account to themselves.
 *
 * For everything else a Gateway calls the same endpoints as a person's client, with its own token and the header
 * `X-Corral-Chat-Account`: the Hub looks up the user of that account on each request, and refuses with `binding_required` if the account is not linked.
 */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  BindChatAccount,
  ChatAccount,
  ChatBinding,
  ChatLink,
  ChatLinkCode,
  ConfirmedChatLink,
  IntegrationReceipt
} from "../chat/ChatAccount.ts"
import { RequiredAuthority } from "../access/EndpointAuthority.ts"
import { responses } from "../errors/ErrorTable.ts"
import { ChatBindingId } from "../identity/Ids.ts"
import { IntegrationEvent } from "../chat/Integration.ts"
import { listQuery, page } from "../http/Page.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { GatewayAuthority } from "./GatewayAuthority.ts"
import { SessionAuthority } from "./SessionAuthority.ts"

export class HubIntegrations extends HttpApiGroup.make("integrations")
  .add(
    HttpApiEndpoint.post("event", "/integrations/events", {
      payload: IntegrationEvent,
      success: IntegrationReceipt,
      error: responses("binding_required", "conflict", "rate_limited", "schema_validation_failed")
    })
      .annotate(RequiredAuthority, "gateway")
      .annotate(
        OpenApi.Description,
        "A message or a click is answered with the person as whom its account acts, or with `binding_required`. `identity.binding.required` is " +
          "answered with the address at which the account can be linked, good for ten minutes and once; the one before it is worth nothing " +
          "then. `conflict` where the account is linked already; `rate_limited` after five in an hour."
      ),
    HttpApiEndpoint.post("bind", "/integrations/bindings", {
      payload: BindChatAccount,
      success: ChatBinding.pipe(HttpApiSchema.status(201)),
      error: responses("binding_required", "conflict", "schema_validation_failed")
    })
      .annotate(RequiredAuthority, "gateway")
      .annotate(
        OpenApi.Description,
        "The number that was typed in the chat. `binding_required` where it is wrong, with `triesLeft` in its details, or where no link of " +
          "this account waits for one. After the fifth wrong number the link is closed."
      ),
    HttpApiEndpoint.post("unbind", "/integrations/bindings/unbind", {
      payload: ChatAccount,
      success: HttpApiSchema.NoContent,
      error: responses("binding_required", "schema_validation_failed")
    }).annotate(RequiredAuthority, "gateway")
  )
  .middleware(SchemaErrors)
  .middleware(GatewayAuthority)
  .middleware(RequestIds) {}

export class HubChatBindings extends HttpApiGroup.make("chatBindings")
  .add(
    HttpApiEndpoint.get("list", "/client/chat-bindings", {
      query: listQuery,
      success: page(ChatBinding),
      error: responses("permission_denied", "schema_validation_failed")
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(OpenApi.Description, "The caller's own."),
    HttpApiEndpoint.delete("remove", "/client/chat-bindings/:id", {
      params: { id: ChatBindingId },
      success: HttpApiSchema.NoContent,
      error: responses("permission_denied")
    }).annotate(RequiredAuthority, "binding.own"),
    HttpApiEndpoint.post("look", "/client/chat-links/look", {
      payload: ChatLinkCode,
      success: ChatLink,
      error: responses("permission_denied", "schema_validation_failed")
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(OpenApi.Description, "Changes nothing."),
    HttpApiEndpoint.post("confirm", "/client/chat-links/confirm", {
      payload: ChatLinkCode,
      success: ConfirmedChatLink,
      error: responses("permission_denied", "conflict", "schema_validation_failed")
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(
        OpenApi.Description,
        "With a browser's sign-in alone, not older than 15 minutes, in the browser that opened the link's page. Gives the number that is to be " +
          "typed in the chat. `conflict` with the reason `sign_in_old` where one must sign in again."
      ),
    HttpApiEndpoint.post("refuse", "/client/chat-links/refuse", {
      payload: ChatLinkCode,
      success: HttpApiSchema.NoContent,
      error: responses("permission_denied", "schema_validation_failed")
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(OpenApi.Description, "Closes the link. Its code is no longer valid.")
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
