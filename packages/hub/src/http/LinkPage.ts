/**
 * `GET /link/:code`: page on which a user links a chat account. One page without a framework, the same for every code. A program that only
 * fetches the page, as chats do for previews, changes nothing and learns nothing.
 *
 * Guarantees: the page gives the browser a key. Only the first signed-in browser that opens the page of a link can confirm it. The page shows
 * only what its script requests with the sign-in of the browser, and inserts foreign text as text.
 */
import { CSRF_COOKIE, CSRF_HEADER } from "@corral/domain/hub-api/SessionAuthority"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { randomBytes } from "node:crypto"
import { ChatLinks } from "../chat/ChatLinks.ts"
import { hubPage, hubPageHeaders } from "../page/HubPage.ts"
import { SignInStore } from "../signin/SignInStore.ts"
import { cookieScopeOf } from "./CookieScope.ts"
import { linkPageScript } from "./LinkPageScript.ts"
import { PublicUrl } from "./PublicUrl.ts"
import { credentialOf } from "./RequestCredential.ts"
import { linkCookie, sessionCookies } from "./SessionCookies.ts"

/** Path prefix of the pages. */
export const LINK_PAGE = "/link"

const body = `<h1 id="title"></h1>
<section id="both" hidden>
  <dl>
    <dt id="chat"></dt><dd id="account"></dd>
    <dt id="you"></dt><dd id="person"></dd>
    <dt id="when"></dt><dd id="requested"></dd>
  </dl>
</section>
<section id="ask" hidden>
  <p id="warning" class="warning"></p>
  <div class="buttons"><button id="cancel" type="button" autofocus></button><button id="confirm" type="button" class="primary"></button></div>
</section>
<section id="type" hidden><p id="how"></p><p id="number" class="code"></p></section>
<p id="status" role="status"></p>`

/** The page of a Hub at this address. */
const shownAt = (publicUrl: string) => {
  const { nameOf, prefix } = cookieScopeOf(publicUrl)
  const csrfCookie = nameOf(CSRF_COOKIE)
  const script = linkPageScript({ prefix, csrfCookie, csrfHeader: CSRF_HEADER, page: LINK_PAGE })
  return HttpServerResponse.text(hubPage({ title: "Corral", body, script, isPrivate: true }), {
    contentType: "text/html; charset=utf-8",
    headers: { ...hubPageHeaders(script), "x-robots-tag": "noindex" }
  })
}

/** Code in the path of the page. */
const codeOf = (url: string): string => url.split("?", 1)[0]?.slice(LINK_PAGE.length + 1) ?? ""

/** Reports to a link that a signed-in browser has opened its page. */
const linkOpening = Effect.gen(function* () {
  const links = yield* ChatLinks
  const signIns = yield* SignInStore
  return Effect.fnUntraced(function* (browser: string, session: string, code: string) {
    const signIn = yield* signIns.find(session)
    if (signIn?.kind === "web") yield* links.open(browser, code)
  })
})

export const linkPage = Layer.unwrap(
  Effect.gen(function* () {
    const { beginLink } = yield* sessionCookies
    const openLink = yield* linkOpening
    const shown = shownAt(yield* PublicUrl)
    return HttpRouter.add(
      "GET",
      `${LINK_PAGE}/:code`,
      Effect.gen(function* () {
        const { cookies, headers, url } = yield* HttpServerRequest.HttpServerRequest
        const browser = linkCookie(cookies) ?? randomBytes(16).toString("base64url")
        const { cookie } = credentialOf(headers)
        // A failure is harmless: the script of the page does the same.
        if (cookie !== undefined) yield* Effect.ignoreCause(openLink(browser, cookie, codeOf(url)))
        yield* beginLink(browser)
        return shown
      })
    )
  })
)
