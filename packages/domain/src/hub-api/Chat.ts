/**
 * Chat: authentication of Gateways, their integration events, and the binding of chat accounts to users.
 *
 * A Gateway has its own token. It names chat accounts, never users. For everything but its events it calls the same endpoints as other clients,
 * with its token and the header `X-Corral-Chat-Account`. On each request the Hub looks up the user of that account. It refuses with
 * `binding_required` if the account is not linked.
 *
 * Does not: implement the middleware. The Hub does.
 */
import { KeyScope, RequiredAuthority } from "../access/EndpointAuthority.ts"
import {
  BindChatAccount,
  BindingUpdates,
  ChatAccount,
  ChatBinding,
  ChatLink,
  ChatLinkCode,
  ConfirmedChatLink,
  IntegrationReceipt,
  NextBindingUpdates
} from "../chat/ChatAccount.ts"
import { IntegrationEvent } from "../chat/Integration.ts"
import { responses } from "../errors/ErrorTable.ts"
import { createdResponse } from "../http/Writes.ts"
import { listQuery, page } from "../http/Page.ts"
import { type CurrentRequestId, RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { ChatBindingId } from "../identity/Ids.ts"
import { SessionAuthority } from "./SessionAuthority.ts"
import {
  HttpApiEndpoint,
  HttpApiGroup,
  HttpApiMiddleware,
  HttpApiSchema,
  HttpApiSecurity,
  OpenApi
} from "effect/http-api"

/**
 * Middleware of endpoints that only a Gateway may call.
 *
 * @effect-expect-leaking CurrentRequestId | HttpServerRequest | ParsedSearchParams | RouteContext
 */
export class GatewayAuthority extends HttpApiMiddleware.Service<
  GatewayAuthority,
  { requires: CurrentRequestId }
>()("corral/domain/GatewayAuthority", {
  security: { gateway: HttpApiSecurity.bearer },
  error: responses("unauthorized")
}) {}

/** Endpoints for Gateways only. */
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
        "For a message or a card action: returns the user that the account acts as, or `binding_required`. For `identity.binding.required`: " +
          "returns the address of a page where the account can be linked, once and within ten minutes. The previous address is no longer " +
          "valid. `conflict` if the account is already linked; `rate_limited` after five addresses in an hour."
      ),
    HttpApiEndpoint.post("bind", "/integrations/bindings", {
      payload: BindChatAccount,
      success: ChatBinding.pipe(createdResponse),
      error: responses("binding_required", "conflict", "schema_validation_failed")
    })
      .annotate(RequiredAuthority, "gateway")
      .annotate(
        OpenApi.Description,
        "Links the account with the number that the user typed in the chat. `binding_required` if the number is wrong, with `triesLeft` in the " +
          "details, or if this account has no confirmed link. The link is closed after five wrong numbers."
      ),
    HttpApiEndpoint.post("bindingUpdates", "/integrations/bindings/updates", {
      payload: NextBindingUpdates,
      success: BindingUpdates,
      error: responses("schema_validation_failed")
    })
      .annotate(RequiredAuthority, "gateway")
      .annotate(
        OpenApi.Description,
        "Notes which updates of bindings the Gateway of a bot has received, and returns those that it has not: `identity.binding.updated`, oldest " +
          "first. An update is returned until it is noted."
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

/** Bindings of the caller, and the page that creates one. */
export class HubChatBindings extends HttpApiGroup.make("chatBindings")
  .add(
    HttpApiEndpoint.get("list", "/client/chat-bindings", {
      query: listQuery,
      success: page(ChatBinding),
      error: responses("permission_denied", "schema_validation_failed")
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(KeyScope, "read")
      .annotate(OpenApi.Description, "Linked chat accounts of the caller."),
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
      .annotate(OpenApi.Description, "Returns the link of a code. Changes nothing."),
    HttpApiEndpoint.post("confirm", "/client/chat-links/confirm", {
      payload: ChatLinkCode,
      success: ConfirmedChatLink,
      error: responses("permission_denied", "conflict", "schema_validation_failed")
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(
        OpenApi.Description,
        "Returns the number that the user types in the chat. Requires the cookie of the browser that opened the link's page, and a sign-in at " +
          "most 15 minutes old. `conflict` with the reason `sign_in_old` if the user must sign in again."
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
