/**
 * `GET /device`: page on which a user decides the sign-in of a program. One page without a framework, also for Hubs without a console.
 *
 * Guarantees: the page shows only what its script requests with the sign-in of the browser, and inserts foreign text as text.
 */
import { CSRF_COOKIE, CSRF_HEADER } from "@corral/domain/hub-api/SessionAuthority"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { hubPage, hubPageHeaders } from "../page/HubPage.ts"
import { cookieScopeOf } from "./CookieScope.ts"
import { devicePageScript } from "./DevicePageScript.ts"
import { PublicUrl } from "./PublicUrl.ts"

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
