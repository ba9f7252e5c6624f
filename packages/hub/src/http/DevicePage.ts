/**
 * `GET /device`: page on which a user decides the sign-in of a program. One page without a framework, also for Hubs without a console.
 *
 * Guarantees: the page shows only what its script requests with the sign-in of the browser, and inserts foreign text as text.
 */
import { CSRF_COOKIE, CSRF_HEADER } from "@corral/domain/hub-api/SessionAuthority"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { hubPage, hubPageHeaders } from "../page/HubPage.ts"
import { cookieScopeOf } from "./SessionCookies.ts"
import { PublicUrl } from "./Handlers.ts"

const body = `<h1 id="title"></h1>
<form id="ask" hidden>
  <label><span id="label"></span><input id="code" maxlength="32" autocomplete="off" autocapitalize="characters" spellcheck="false" autofocus></label>
  <button id="go" class="primary"></button>
</form>
<section id="answer" hidden>
  <p id="program"></p>
  <p id="shown" class="code"></p>
  <p id="warning" class="warning"></p>
  <div class="buttons"><button id="deny" type="button"></button><button id="allow" type="button" class="primary"></button></div>
  <button id="another" type="button"></button>
</section>
<p id="status" role="status"></p>
<p id="who" class="quiet"></p>`

export const devicePage = Layer.unwrap(
  Effect.map(PublicUrl, (publicUrl) => {
    const { nameOf, prefix } = cookieScopeOf(publicUrl)
    const script = devicePageScript({ prefix, csrfCookie: nameOf(CSRF_COOKIE), csrfHeader: CSRF_HEADER })
    const page = hubPage({ title: "Sign in a program", body, script })
    const headers = hubPageHeaders(script)
    return HttpRouter.add(
      "GET",
      "/device",
      HttpServerResponse.text(page, { contentType: "text/html; charset=utf-8", headers })
    )
  })
)

/** Script of the device page, in English and Chinese. All data are inserted as text. */
interface Names {
  /** Path of the Hub, before the paths of its contract; empty at the root of its origin. */
  readonly prefix: string
  readonly csrfCookie: string
  readonly csrfHeader: string
}

const words = {
  en: {
    title: "Sign in a program",
    code: "Code",
    go: "Continue",
    another: "Enter another code",
    allow: "Allow",
    deny: "Deny",
    who: "You are signed in as",
    program: "A program",
    wants: "wants to sign in as you",
    warning: "Allow this only if you started the program and it shows this code.",
    unknown: "No program is waiting for this code. Check the code; it expires after ten minutes.",
    allowed: "Signed in. You can close this page and return to the program.",
    denied: "Sign-in denied. You can close this page.",
    gone: "This code was used or has expired. Start the sign-in again in the program.",
    failed: "Can't reach the Hub. Try again in a moment.",
    kinds: { web: "browser", desktop: "desktop", cli: "command line" }
  },
  zh: {
    title: "登录一个程序",
    code: "验证码",
    go: "继续",
    another: "输入其他验证码",
    allow: "允许",
    deny: "拒绝",
    who: "当前登录账号：",
    program: "一个程序",
    wants: "请求以您的身份登录",
    warning: "仅当程序是您本人启动、并且显示的正是此验证码时，才允许登录。",
    unknown: "没有程序在等待此验证码。请检查验证码；它会在十分钟后过期。",
    allowed: "已登录。您可以关闭此页面并返回程序。",
    denied: "已拒绝登录。您可以关闭此页面。",
    gone: "此验证码已使用或已过期。请在程序中重新登录。",
    failed: "无法连接到 Hub。请稍后重试。",
    kinds: { web: "浏览器", desktop: "桌面端", cli: "命令行" }
  }
}

/** Text of the script. It contains no `<`, so it cannot end its element. */
const devicePageScript = ({ csrfCookie, csrfHeader, prefix }: Names): string => `
  const lang = navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en"
  const words = ${JSON.stringify(words)}[lang]
  const hub = ${JSON.stringify(prefix)}
  const at = (id) => document.getElementById(id)
  const show = (id, text) => { at(id).textContent = text }
  const cookie = (name) => document.cookie.split("; ").find((pair) => pair.startsWith(name + "="))?.slice(name.length + 1)
  const input = at("code")
  input.value = new URLSearchParams(location.search).get("code") ?? ""
  const signIn = (more) => location.replace(hub + "/client/auth/login?" + new URLSearchParams({ returnTo: "/device?code=" + encodeURIComponent(input.value), ...more }))
  let shownCode = ""
  const only = (shown) => { for (const id of ["ask", "answer"]) at(id).hidden = id !== shown }
  const end = (text) => { only(); show("status", text) }
  const lookUp = async () => {
    only("ask")
    shownCode = input.value.trim()
    if (shownCode === "") return show("status", "")
    const response = await fetch(hub + "/client/auth/device?" + new URLSearchParams({ userCode: shownCode }))
    if (response.status === 401) return signIn({})
    if (!response.ok) return show("status", words.unknown)
    const { clientName, kind } = await response.json()
    show("status", "")
    show("shown", shownCode.toUpperCase())
    const name = document.createElement("b")
    name.textContent = clientName ?? words.program
    at("program").replaceChildren(name, " (" + (words.kinds[kind] ?? kind) + ") " + words.wants)
    only("answer")
    at("deny").focus()
  }
  const answer = (decision) => async () => {
    const done = await fetch(hub + "/client/auth/device/approve", {
      method: "POST",
      headers: { "content-type": "application/json", ${JSON.stringify(csrfHeader)}: decodeURIComponent(cookie(${JSON.stringify(csrfCookie)}) ?? "") },
      body: JSON.stringify({ userCode: shownCode, decision })
    })
    const { details } = done.status === 409 ? await done.json() : {}
    if (details?.reason === "sign_in_old") return signIn({ fresh: "1" })
    if (done.ok) return end(decision === "allow" ? words.allowed : words.denied)
    only("ask")
    show("status", words.gone)
  }
  const failing = (what) => () => what().catch(() => show("status", words.failed))
  const begin = async () => {
    const me = await fetch(hub + "/client/auth/me")
    if (me.status === 401) return signIn({})
    if (!me.ok) return end(words.failed)
    const { user } = await me.json()
    show("who", words.who + " " + user.name)
    await lookUp()
  }
  document.documentElement.lang = lang
  document.title = words.title
  for (const id of ["title", "label", "go", "warning", "allow", "deny", "another"]) show(id, words[id === "label" ? "code" : id])
  at("allow").addEventListener("click", failing(answer("allow")))
  at("deny").addEventListener("click", failing(answer("deny")))
  at("another").addEventListener("click", () => { only("ask"); show("status", ""); input.focus() })
  at("ask").addEventListener("submit", (event) => { event.preventDefault(); failing(lookUp)() })
  await failing(begin)()
`
