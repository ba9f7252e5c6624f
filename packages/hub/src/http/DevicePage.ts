/**
 * `GET /device`: where a person answers a program that asks to be signed in as them. One page without a framework, for who has no console.
 *
 * It knows no more than its script asks the Hub for with the browser's sign-in; what anybody else has written is put in as text.
 */
import { CSRF_COOKIE, CSRF_HEADER } from "@corral/domain/hub-api/SessionAuthority"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { contentPolicy } from "./PagePolicy.ts"

const style = `
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 26rem; margin: 15vh auto; padding: 0 1rem; color-scheme: light dark }
  input, button { font: inherit; padding: .5rem .75rem; margin: .5rem .25rem .5rem 0 }
  input { text-transform: uppercase; letter-spacing: .1em; width: 10rem }
  [hidden] { display: none }
`

const script = `
  const at = (id) => document.getElementById(id)
  const say = (text) => { at("said").textContent = text }
  const cookie = (name) => document.cookie.split("; ").find((pair) => pair.startsWith(name + "="))?.slice(name.length + 1)
  const code = at("code")
  code.value = new URLSearchParams(location.search).get("code") ?? ""
  const signIn = (more) => location.replace("/client/auth/login?" + new URLSearchParams({ returnTo: "/device?code=" + encodeURIComponent(code.value), ...more }))
  let asked = ""
  const look = async () => {
    at("answer").hidden = true
    if (code.value === "") return say("")
    asked = code.value
    const found = await fetch("/client/auth/device?" + new URLSearchParams({ userCode: asked }))
    if (!found.ok) return say("Nothing waits under this code. Look at it again; it is good for ten minutes.")
    const { clientName, kind } = await found.json()
    say("Sign in " + (clientName ?? "a program") + " (" + kind + ") as you? Allow it only if it shows this code and you have started it.")
    at("answer").hidden = false
  }
  const answer = (decision) => async () => {
    const done = await fetch("/client/auth/device/approve", {
      method: "POST",
      headers: { "content-type": "application/json", "${CSRF_HEADER}": decodeURIComponent(cookie("${CSRF_COOKIE}") ?? "") },
      body: JSON.stringify({ userCode: asked, decision })
    })
    const { details } = done.status === 409 ? await done.json() : {}
    if (details?.reason === "sign_in_old") return signIn({ fresh: "1" })
    at("answer").hidden = true
    at("ask").hidden = done.ok
    say(done.ok ? (decision === "allow" ? "It is signed in. You may close this page." : "It is not signed in.") : "That did not work: the code is used or over.")
  }
  at("allow").addEventListener("click", answer("allow"))
  at("deny").addEventListener("click", answer("deny"))
  at("ask").addEventListener("submit", (event) => { event.preventDefault(); look() })
  const me = await fetch("/client/auth/me")
  if (me.status === 401) signIn({})
  else if (me.ok) {
    at("who").textContent = "Signed in as " + (await me.json()).user.name + "."
    await look()
  } else say("The Hub does not answer as it should. Try again in a moment.")
`

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sign in a program</title>
<style>${style}</style>
<h1>Sign in a program</h1>
<p id="who"></p>
<form id="ask"><label>Code <input id="code" maxlength="32" autocomplete="off" autofocus></label><button>Look</button></form>
<p id="said" role="status"></p>
<p id="answer" hidden><button id="allow" type="button">Allow</button><button id="deny" type="button">Deny</button></p>
<script type="module">${script}</script>
</html>
`

const headers = {
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "content-security-policy": contentPolicy(script, style)
}

export const devicePage = HttpRouter.add(
  "GET",
  "/device",
  HttpServerResponse.text(page, { contentType: "text/html; charset=utf-8", headers })
)
