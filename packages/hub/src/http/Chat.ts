/**
 * Chat accounts. `/client/chat-bindings`, `/client/chat-links`: those of the user, and the confirmation of a link in the browser. `/integrations`:
 * events and links of chat accounts, sent by a Gateway; responses name the user as whom an account acts.
 */
import { ChatAccount, encodeChatAccount } from "@corral/domain/chat/ChatAccount"
import type { IntegrationEvent } from "@corral/domain/chat/Integration"
import { PermissionDenied, SchemaValidationFailed } from "@corral/domain/errors/Failures"
import { issuesOf } from "@corral/domain/errors/ValidationIssues"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import { idPosition, pageOf } from "@corral/service/http/Paged"
import { Effect, Result, Schema } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Audit } from "../audit/Audit.ts"
import { accountNotBound, ChatBindings, ChatBindingUpdates } from "../chat/ChatBindings.ts"
import { ChatLinks, GATEWAY_ACTOR } from "../chat/ChatLinks.ts"
import { chatNameOf } from "../chat/ChatName.ts"
import { UserPreferences } from "../preference/UserPreferences.ts"
import { Users } from "../signin/Users.ts"
import { credentialOf, recentSignIn } from "./Callers.ts"
import { PublicUrl, withErrorObjects } from "./Handlers.ts"
import { LINK_PAGE } from "./LinkPage.ts"
import { linkCookie } from "./SessionCookies.ts"

export const chatBindingEndpoints = HttpApiBuilder.group(
  HubApi,
  "chatBindings",
  Effect.fnUntraced(function* (handlers) {
    const audit = yield* Audit
    const bindings = yield* ChatBindings
    const links = yield* ChatLinks
    const recent = yield* recentSignIn

    /** Audited action on a link, with the same id for every caller. */
    const auditedAction = Effect.fnUntraced(function* (action: "chat.confirm" | "chat.refuse", code: string) {
      return { action, resource: (yield* links.idOf(code)) ?? "unknown", projectId: null }
    })

    /** Key of the browser that opened the page. Requires a recent sign-in there. */
    const browserOf = Effect.gen(function* () {
      const { cookies } = yield* HttpServerRequest.HttpServerRequest
      const browser = linkCookie(cookies)
      if (browser === undefined)
        return yield* new PermissionDenied({ message: "Open the link in your browser and confirm it there." })
      yield* recent.required
      return browser
    })

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query: { cursor, limit } }) {
        const { userId } = yield* CurrentPrincipal
        return yield* pageOf(
          { filter: "chat bindings", principal: userId, cursor, limit },
          idPosition,
          (after, limit) => bindings.list(userId, after, limit)
        )
      }, withErrorObjects),

      remove: Effect.fnUntraced(function* ({ params: { id } }) {
        const { userId } = yield* CurrentPrincipal
        yield* audit.perform(
          { action: "chat.unbind", resource: id, projectId: null },
          bindings.remove(userId, id)
        )
      }, withErrorObjects),

      look: Effect.fnUntraced(function* ({ payload: { code } }) {
        const { kind, userId } = yield* CurrentPrincipal
        const { cookies, headers } = yield* HttpServerRequest.HttpServerRequest
        const browser = linkCookie(cookies)
        const isPage = kind === "web" && credentialOf(headers).cookie !== undefined
        if (isPage && browser !== undefined) yield* links.open(browser, code)
        return yield* links.look(userId, code)
      }, withErrorObjects),

      confirm: Effect.fnUntraced(function* ({ payload: { code } }) {
        const principal = yield* CurrentPrincipal
        const confirmed = Effect.flatMap(browserOf, (browser) =>
          links.confirm(principal.userId, browser, code)
        )
        const { expiresAt, number } = yield* audit.perform(
          yield* auditedAction("chat.confirm", code),
          confirmed
        )
        return { number, expiresAt: expiresAt.toISOString() }
      }, withErrorObjects),

      refuse: Effect.fnUntraced(function* ({ payload: { code } }) {
        const { userId } = yield* CurrentPrincipal
        yield* audit.perform(yield* auditedAction("chat.refuse", code), links.refuse(userId, code))
      }, withErrorObjects)
    })
  })
)

export const integrationEndpoints = HttpApiBuilder.group(
  HubApi,
  "integrations",
  Effect.fnUntraced(function* (handlers) {
    const audit = yield* Audit
    const bindings = yield* ChatBindings
    const links = yield* ChatLinks
    const preferences = yield* UserPreferences
    const publicUrl = yield* PublicUrl
    const updates = yield* ChatBindingUpdates
    const users = yield* Users

    /** The user as whom the account acts. */
    const actsAs = Effect.fnUntraced(function* (account: ChatAccount) {
      const bound = yield* bindings.find(account)
      const user = bound && (yield* users.find(bound.userId))
      if (user === undefined) return yield* accountNotBound()
      const { language } = yield* preferences.get(user.id)
      return { user: { id: user.id, name: user.name, ...(language === undefined ? {} : { language }) } }
    })

    const startLink = Effect.fnUntraced(function* (
      account: ChatAccount,
      senderName: string | undefined,
      tenantName: string | undefined
    ) {
      const names = { name: chatNameOf(senderName), tenantName: chatNameOf(tenantName) }
      const { code, expiresAt } = yield* audit.performAs(
        GATEWAY_ACTOR,
        { action: "chat.start", resource: encodeChatAccount(account), projectId: null },
        links.start(account, names),
        ({ id }) => ({ resource: id })
      )
      return {
        link: { url: `${publicUrl}${LINK_PAGE}/${code}`, expiresAt: expiresAt.toISOString() }
      }
    })

    return handlers.handleAll({
      event: Effect.fnUntraced(function* ({ payload }) {
        const account = yield* accountOf(payload)
        if (payload.type !== "identity.binding.required") return yield* actsAs(account)
        const { senderName, tenantName } = payload.payload
        return yield* startLink(account, senderName, tenantName)
      }, withErrorObjects),

      bind: ({ payload: { number, ...account } }) => withErrorObjects(links.bind(account, number)),

      bindingUpdates: ({ payload }) => withErrorObjects(updates.next(payload)),

      unbind: Effect.fnUntraced(function* ({ payload }) {
        yield* audit.performAs(
          GATEWAY_ACTOR,
          { action: "chat.unbind", resource: encodeChatAccount(payload), projectId: null },
          bindings.unbind(payload),
          ({ id, userId }) => ({ resource: id, actor: userId })
        )
      }, withErrorObjects)
    })
  })
)

const decodeAccount = Schema.decodeUnknownResult(ChatAccount)

/** Account of an event. Issues name the field of the event that is invalid. */
const accountOf = ({
  payload,
  type
}: IntegrationEvent): Effect.Effect<ChatAccount, SchemaValidationFailed> => {
  const name = type === "integration.card.action" ? "operatorId" : "senderId"
  const account = "operatorId" in payload ? payload.operatorId : payload.senderId
  const { app, platform, tenant } = payload
  const decoded = decodeAccount({ platform, app, tenant, account }, { errors: "all" })
  if (Result.isSuccess(decoded)) return Effect.succeed(decoded.success)
  const issues = issuesOf(decoded.failure.issue).map(({ message, path }) => ({
    path: `payload.${path === "account" ? name : path}`,
    message
  }))
  return Effect.fail(new SchemaValidationFailed({ details: { issues } }))
}
