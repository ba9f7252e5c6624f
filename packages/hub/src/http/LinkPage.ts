/**
 * `GET /link/:code`: page on which a user links a chat account. One page without a framework, the same for every code. A program that only
 * fetches the page, as chats do for previews, changes nothing and learns nothing.
 *
 * Guarantees: the page gives the browser a key. Only the first signed-in browser that opens the page of a link can confirm it. The page shows
 * only what its script requests with the sign-in of the browser, and inserts foreign text as text.
 */
import { CSRF_COOKIE, CSRF_HEADER } from "@corral/domain/hub-api/SessionAuthority"
import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { randomBytes } from "node:crypto"
import { ChatLinks } from "../chat/ChatLinks.ts"
import { SignInStore } from "../signin/SignInStore.ts"
import { credentialOf } from "./RequestCredential.ts"
import { linkPageScript } from "./LinkPageScript.ts"
import { contentPolicy } from "./PagePolicy.ts"
import { beginLink, linkCookie } from "./SessionCookies.ts"

/** Path prefix of the pages. */
export const LINK_PAGE = "/link"

const style = `
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 30rem; margin: 10vh auto; padding: 0 1rem; color-scheme: light dark }
  button { font: inherit; padding: .5rem .75rem; margin: .5rem .25rem .5rem 0 }
  dt { font-size: .85rem; opacity: .75 } dd { margin: 0 0 .75rem; overflow-wrap: anywhere; unicode-bidi: isolate }
  dd b { unicode-bidi: isolate }
  #number { font: 600 2.5rem/1.2 ui-monospace, monospace; letter-spacing: .2em }
  #warning { border-left: 4px solid #c60; padding-left: .75rem }
  [hidden] { display: none }
`

const script = linkPageScript({ csrfCookie: CSRF_COOKIE, csrfHeader: CSRF_HEADER, page: LINK_PAGE })

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>Corral</title>
<style>${style}</style>
<h1 id="title"></h1>
<section id="both" hidden>
  <dl>
    <dt id="chat"></dt><dd id="account"></dd>
    <dt id="you"></dt><dd id="person"></dd>
    <dt id="when"></dt><dd id="asked"></dd>
  </dl>
</section>
<section id="ask" hidden>
  <p id="warning"></p>
  <button id="cancel" type="button" autofocus></button>
  <button id="confirm" type="button"></button>
</section>
<section id="type" hidden><p id="how"></p><p id="number"></p></section>
<p id="said" role="status"></p>
<script type="module">${script}</script>
</html>
`

const headers = {
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-robots-tag": "noindex",
  "content-security-policy": contentPolicy(script, style)
}

const shown = HttpServerResponse.text(page, { contentType: "text/html; charset=utf-8", headers })

/** Code in the path of the page. */
const codeOf = (url: string): string => url.split("?", 1)[0]?.slice(LINK_PAGE.length + 1) ?? ""

const openLink = Effect.fnUntraced(function* (browser: string, session: string, code: string) {
  const links = yield* ChatLinks
  const signIns = yield* SignInStore
  const found = yield* signIns.find(session)
  if (found?.kind === "web") yield* links.open(browser, code)
})

export const linkPage = HttpRouter.add(
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
