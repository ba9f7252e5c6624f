/**
 * `GET /device`: page on which a user decides the sign-in of a program. One page without a framework, also for Hubs without a console.
 *
 * Guarantees: the page shows only what its script requests with the sign-in of the browser, and inserts foreign text as text.
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
  let shownCode = ""
  const lookUp = async () => {
    at("answer").hidden = true
    if (code.value === "") return say("")
    shownCode = code.value
    const found = await fetch("/client/auth/device?" + new URLSearchParams({ userCode: shownCode }))
    if (!found.ok) return say("No program is waiting for this code. Check the code; it expires after ten minutes.")
    const { clientName, kind } = await found.json()
    say("Sign in " + (clientName ?? "a program") + " (" + kind + ") as you? Allow this only if you started the program and it shows this code.")
    at("answer").hidden = false
  }
  const answer = (decision) => async () => {
    const done = await fetch("/client/auth/device/approve", {
      method: "POST",
      headers: { "content-type": "application/json", "${CSRF_HEADER}": decodeURIComponent(cookie("${CSRF_COOKIE}") ?? "") },
      body: JSON.stringify({ userCode: shownCode, decision })
    })
    const { details } = done.status === 409 ? await done.json() : {}
    if (details?.reason === "sign_in_old") return signIn({ fresh: "1" })
    at("answer").hidden = true
    at("ask").hidden = done.ok
    say(done.ok ? (decision === "allow" ? "Signed in. You can close this page." : "Sign-in denied.") : "This code was used or has expired. Start the sign-in again in the program.")
  }
  at("allow").addEventListener("click", answer("allow"))
  at("deny").addEventListener("click", answer("deny"))
  at("ask").addEventListener("submit", (event) => { event.preventDefault(); lookUp() })
  const me = await fetch("/client/auth/me")
  if (me.status === 401) signIn({})
  else if (me.ok) {
    at("who").textContent = "Signed in as " + (await me.json()).user.name + "."
    await lookUp()
  } else say("Can't reach the Hub. Try again in a moment.")
`

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sign in a program</title>
<style>${style}</style>
<h1>Sign in a program</h1>
<p id="who"></p>
<form id="ask"><label>Code <input id="code" maxlength="32" autocomplete="off" autofocus></label><button>Continue</button></form>
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
