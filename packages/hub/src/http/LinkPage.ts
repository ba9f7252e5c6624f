/**
 * `GET /link/:code`: page on which a user links a chat account, with its script in English and Chinese. One page without a framework,
 * the same for every code. A program that only fetches the page, as chats do for previews, changes nothing and learns nothing.
 *
 * Guarantees: the page gives the browser a key. Only the first signed-in browser that opens the page of a link can confirm it. The
 * page shows only what its script requests with the sign-in of the browser, and inserts foreign text as text.
 */
import { CSRF_COOKIE, CSRF_HEADER } from "@corral/domain/hub-api/SessionAuthority"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { randomBytes } from "node:crypto"
import { ChatLinks } from "../chat/ChatLinks.ts"
import { hubPage, hubPageHeaders } from "../page/HubPage.ts"
import { SignInStore } from "../signin/SignInStore.ts"
import { cookieScopeOf, linkCookie, sessionCookies } from "./SessionCookies.ts"
import { PublicUrl } from "./Handlers.ts"
import { credentialOf } from "./Callers.ts"

interface Names {
  /** Path of the Hub, before the paths of its contract; empty at the root of its origin. */
  readonly prefix: string
  readonly csrfCookie: string
  readonly csrfHeader: string
  /** Path prefix of the page. */
  readonly page: string
}

const words = {
  en: {
    title: "Link a chat account",
    chat: "This chat account",
    you: "will act as you",
    when: "Requested",
    on: "on",
    warning:
      "Continue only if you just requested this in your own chat. If another person sent you this link, cancel: they could act as you.",
    cancel: "Cancel",
    confirm: "Link account",
    how: "Type this number in the chat with the bot. Don't share it.",
    linked: "The account is linked. You can close this page.",
    cancelled: "Nothing was linked. You can close this page.",
    gone: "This link was used, has expired, or belongs to another user. Request a new one in the chat.",
    failed: "Can't reach the Hub. Try again in a moment."
  },
  zh: {
    title: "关联聊天账号",
    chat: "此聊天账号",
    you: "将以您的身份操作",
    when: "请求时间",
    on: "平台",
    warning:
      "仅当您刚刚在自己的聊天中发起此请求时才继续。如果链接是别人发给您的,请取消:否则对方将能以您的身份操作。",
    cancel: "取消",
    confirm: "关联",
    how: "请在与机器人的聊天中输入此数字。不要告诉任何其他人。",
    linked: "已关联。您可以关闭此页面。",
    cancelled: "没有关联任何账号。您可以关闭此页面。",
    gone: "此链接已使用、已过期或不属于您。请在聊天中重新获取。",
    failed: "无法连接到 Hub。请稍后重试。"
  }
}

/** Text of the script. It contains no `<`, so it cannot end its element. */
export const linkPageScript = ({ csrfCookie, csrfHeader, page, prefix }: Names): string => `
  const lang = navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en"
  const words = ${JSON.stringify(words)}[lang]
  const hub = ${JSON.stringify(prefix)}
  const at = (id) => document.getElementById(id)
  const show = (id, text) => { at(id).textContent = text }
  const only = (...ids) => { for (const id of ["both", "ask", "type"]) at(id).hidden = !ids.includes(id) }
  const end = (text) => { only(); show("status", text) }
  const cookie = (name) => document.cookie.split("; ").find((pair) => pair.startsWith(name + "="))?.slice(name.length + 1)
  const place = location.pathname.slice(hub.length)
  const code = place.slice(${JSON.stringify(page)}.length + 1)
  const signIn = (more) => location.replace(hub + "/client/auth/login?" + new URLSearchParams({ returnTo: place, ...more }))
  const post = (what) => fetch(hub + "/client/chat-links/" + what, {
    method: "POST",
    headers: { "content-type": "application/json", ${JSON.stringify(csrfHeader)}: decodeURIComponent(cookie(${JSON.stringify(csrfCookie)}) ?? "") },
    body: JSON.stringify({ code })
  })
  const refused = async (answer) => {
    if (answer.status === 401) return signIn({})
    const { details } = await answer.json().catch(() => ({}))
    if (details?.reason === "sign_in_old") return signIn({ fresh: "1" })
    end(answer.status === 403 || answer.status === 422 ? words.gone : words.failed)
  }
  const watch = async () => {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, 2000))
      const answer = await post("look").catch(() => undefined)
      if (answer === undefined) continue
      if (!answer.ok) return refused(answer)
      if ((await answer.json()).state === "linked") return end(words.linked)
    }
  }
  const confirm = async () => {
    only("both")
    const answer = await post("confirm")
    if (!answer.ok) return refused(answer)
    show("number", (await answer.json()).number)
    only("both", "type")
    await watch()
  }
  const cancel = async () => {
    const answer = await post("refuse")
    if (!answer.ok) return refused(answer)
    end(words.cancelled)
  }
  const showName = (id, name, rest) => {
    const bold = document.createElement("b")
    bold.textContent = name
    at(id).replaceChildren(bold, rest)
  }
  const failing = (what) => () => what().catch(() => end(words.failed))
  const begin = async () => {
    const me = await fetch(hub + "/client/auth/me")
    if (!me.ok) return refused(me)
    const { user } = await me.json()
    const answer = await post("look")
    if (!answer.ok) return refused(answer)
    const link = await answer.json()
    if (link.state === "linked") return end(words.linked)
    const tenant = link.tenantName === undefined ? link.tenant : link.tenantName + " (" + link.tenant + ")"
    showName("account", link.name ?? link.account, " (" + link.account + "), " + tenant + ", " + words.on + " " + link.platform)
    showName("person", user.name, user.email === undefined ? "" : " (" + user.email + ")")
    show("requested", new Date(link.requestedAt).toLocaleString(lang))
    only("both", "ask")
    at("cancel").focus()
  }
  document.documentElement.lang = lang
  document.title = words.title
  for (const id of ["title", "chat", "you", "when", "warning", "cancel", "confirm", "how"]) show(id, words[id])
  at("confirm").addEventListener("click", failing(confirm))
  at("cancel").addEventListener("click", failing(cancel))
  await failing(begin)()
`

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
