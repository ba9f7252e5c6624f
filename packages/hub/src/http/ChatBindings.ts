/** `/client/chat-bindings`, `/client/chat-links`: chat accounts of the user, and the confirmation of a link in the browser. */
import { PermissionDenied } from "@corral/domain/errors/Failures"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import { idPosition, pageOf } from "@corral/service/http/Paged"
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Audit } from "../audit/Audit.ts"
import { ChatBindings } from "../chat/ChatBindings.ts"
import { ChatLinks } from "../chat/ChatLinks.ts"
import { withErrorObjects } from "./Handlers.ts"
import { credentialOf, recentSignIn } from "./Callers.ts"
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
