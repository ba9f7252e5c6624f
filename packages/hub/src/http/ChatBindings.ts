/** `/client/chat-bindings`, `/client/chat-links`: a person's own chat accounts, and the browser's part in linking one. */
import { PermissionDenied } from "@corral/domain/errors/Failures"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import { byId, pageOf } from "@corral/service/http/Paged"
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Audit } from "../audit/Audit.ts"
import { ChatBindings } from "../chat/ChatBindings.ts"
import { ChatLinks } from "../chat/ChatLinks.ts"
import { answered } from "./Answered.ts"
import { credentialOf } from "./Guard.ts"
import { recentSignIn } from "./RecentSignIn.ts"
import { linkCookie } from "./SessionCookies.ts"

export const chatBindings = HttpApiBuilder.group(
  HubApi,
  "chatBindings",
  Effect.fnUntraced(function* (handlers) {
    const audit = yield* Audit
    const bindings = yield* ChatBindings
    const links = yield* ChatLinks
    const recent = yield* recentSignIn

    /** What the audit calls the link, whoever asks. */
    const deed = Effect.fnUntraced(function* (action: "chat.confirm" | "chat.refuse", code: string) {
      return { action, resource: (yield* links.idOf(code)) ?? "unknown", projectId: null }
    })

    /** The browser that opened the page, where somebody has just signed in. */
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
          byId,
          (after, limit) => bindings.list(userId, after, limit)
        )
      }, answered),

      remove: Effect.fnUntraced(function* ({ params: { id } }) {
        const { userId } = yield* CurrentPrincipal
        yield* audit.perform(
          { action: "chat.unbind", resource: id, projectId: null },
          bindings.remove(userId, id)
        )
      }, answered),

      look: Effect.fnUntraced(function* ({ payload: { code } }) {
        const { kind, userId } = yield* CurrentPrincipal
        const { cookies, headers } = yield* HttpServerRequest.HttpServerRequest
        const browser = linkCookie(cookies)
        const isPage = kind === "web" && credentialOf(headers).cookie !== undefined
        if (isPage && browser !== undefined) yield* links.open(browser, code)
        return yield* links.look(userId, code)
      }, answered),

      confirm: Effect.fnUntraced(function* ({ payload: { code } }) {
        const principal = yield* CurrentPrincipal
        const confirmed = Effect.flatMap(browserOf, (browser) =>
          links.confirm(principal.userId, browser, code)
        )
        const { expiresAt, number } = yield* audit.perform(yield* deed("chat.confirm", code), confirmed)
        return { number, expiresAt: expiresAt.toISOString() }
      }, answered),

      refuse: Effect.fnUntraced(function* ({ payload: { code } }) {
        const { userId } = yield* CurrentPrincipal
        yield* audit.perform(yield* deed("chat.refuse", code), links.refuse(userId, code))
      }, answered)
    })
  })
)
