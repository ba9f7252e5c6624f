import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type Answer, codeOf } from "@corral/testing/hub/HubClient"
import { Browser, locationOf } from "@corral/testing/hub/Browser"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { CLIENT_SECRET, Issuer } from "../harness/Issuer.ts"

describe("Sign-in with a browser", () => {
  let issuer: Issuer
  let hub: HubInProcess

  beforeAll(async () => {
    issuer = await Issuer.open()
    hub = new HubInProcess({ env: issuer.env })
    await hub.start()
    await issuer.serve(hub.url)
  })

  afterAll(async () => {
    await hub.remove()
    await issuer.close()
  })

  /** Begins at the Hub; gives the provider's address. */
  const login = async (browser: Browser, query = ""): Promise<URL> => {
    const answer = await browser.hub(`${hub.url}/client/auth/login${query}`)
    assert.strictEqual(answer.status, 302)
    return new URL(locationOf(answer))
  }

  /** Begins, signs in at the provider, and gives the address at which the Hub awaits the browser. */
  const proven = async (browser: Browser, name: string, query = ""): Promise<string> =>
    issuer.signIn(browser, (await login(browser, query)).href, name)

  const me = (browser: Browser) => browser.hub(`${hub.url}/client/auth/me`)

  const assertRefused = (browser: Browser, answer: Answer, code = "unauthorized") => {
    assert.strictEqual(codeOf(answer), code)
    assert.isFalse(browser.cookies(hub.url).has("__Host-corral"))
  }

  it("creates a session of the user that the provider proves", async () => {
    const browser = new Browser()
    issuer.people.set("ada", { name: "Ada", email: "ada@example.com", email_verified: true })
    const returned = await proven(browser, "ada", "?returnTo=%2Fruns%3Fstate%3Dfailed%23last")
    const answer = await browser.hub(returned)
    assert.deepStrictEqual([answer.status, locationOf(answer)], [302, `${hub.url}/runs?state=failed#last`])

    const { body } = await me(browser)
    const { user, kind } = body as { readonly user: Record<string, unknown>; readonly kind: string }
    assert.deepInclude(user, { name: "Ada", email: "ada@example.com" })
    assert.strictEqual(kind, "web")
    assert.match(
      browser.setCookies.get("__Host-corral") ?? "",
      /^__Host-corral=corral_s_[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; Secure; SameSite=Lax$/
    )
    assert.notInclude(browser.setCookies.get("__Host-corral-csrf") ?? "HttpOnly", "HttpOnly")
  })

  it("identifies a user by issuer and subject, also with another name and address", async () => {
    const idOf = async (claims: Record<string, unknown>) => {
      issuer.people.set("grace", claims)
      const browser = new Browser()
      await browser.hub(await proven(browser, "grace"))
      return ((await me(browser)).body as { readonly user: { readonly id: string; readonly email?: string } })
        .user
    }
    const first = await idOf({ name: "Grace", email: "grace@example.com", email_verified: true })
    const second = await idOf({ name: "Rear Admiral", email: "other@example.com", email_verified: false })
    assert.strictEqual(second.id, first.id)
    assert.isUndefined(second.email)
  })

  it("requests missing claims from the provider", async () => {
    issuer.inIdToken = false
    await issuer.serve(hub.url)
    issuer.people.set("edsger", { name: "Edsger", email: "e@example.com", email_verified: true })
    const browser = new Browser()
    await browser.hub(await proven(browser, "edsger"))
    const { body } = await me(browser)
    assert.deepInclude((body as { readonly user: object }).user, { name: "Edsger", email: "e@example.com" })
    issuer.inIdToken = true
    await issuer.serve(hub.url)
  })

  it("creates a new session at each sign-in, and ends the previous one", async () => {
    const browser = new Browser()
    await browser.hub(await proven(browser, "ada"))
    const first = browser.cookies(hub.url).get("__Host-corral") ?? ""
    await browser.hub(await proven(browser, "ada"))
    assert.notStrictEqual(browser.cookies(hub.url).get("__Host-corral"), first)
    assert.strictEqual(
      codeOf(await hub.client.ask("GET", "/client/auth/me", { token: first })),
      "unauthorized"
    )
  })

  it("ends at logout, which requires the CSRF header", async () => {
    const browser = new Browser()
    await browser.hub(await proven(browser, "ada"))
    const csrf = browser.cookies(hub.url).get("__Host-corral-csrf") ?? ""
    const token = browser.cookies(hub.url).get("__Host-corral") ?? ""
    const logout = (headers: Record<string, string>) =>
      browser.hub(`${hub.url}/client/auth/logout`, { method: "POST", headers })
    assert.strictEqual(codeOf(await logout({ origin: hub.url })), "permission_denied")
    assert.strictEqual(codeOf(await logout({ "x-csrf-token": csrf })), "permission_denied")
    assert.strictEqual(
      codeOf(await logout({ origin: "https://evil.example", "x-csrf-token": csrf })),
      "permission_denied"
    )
    assert.strictEqual((await me(browser)).status, 200)
    assert.strictEqual((await logout({ origin: hub.url, "x-csrf-token": csrf })).status, 204)
    assert.isFalse(browser.cookies(hub.url).has("__Host-corral"))
    assert.isFalse(browser.cookies(hub.url).has("__Host-corral-csrf"))
    assert.strictEqual(codeOf(await hub.client.ask("GET", "/client/auth/me", { token })), "unauthorized")
  })

  it("accepts the cookie or a bearer token, not both", async () => {
    const browser = new Browser()
    await browser.hub(await proven(browser, "ada"))
    const token = browser.cookies(hub.url).get("__Host-corral") ?? ""
    const both = await browser.hub(`${hub.url}/client/auth/me`, {
      headers: { authorization: `Bearer ${token}` }
    })
    assert.strictEqual(codeOf(both), "unauthorized")
    const refreshed = await browser.hub(`${hub.url}/client/auth/refresh`, {
      method: "POST",
      headers: { origin: hub.url, "x-csrf-token": browser.cookies(hub.url).get("__Host-corral-csrf") ?? "" }
    })
    assert.strictEqual(codeOf(refreshed), "permission_denied")
  })

  describe("refuses", () => {
    const change = (address: string, parameter: string, value: string | undefined): string => {
      const url = new URL(address)
      if (value === undefined) url.searchParams.delete(parameter)
      else url.searchParams.set(parameter, value)
      return url.href
    }

    it.each([
      ["another state", "A".repeat(43)],
      ["an empty state", ""],
      ["no state", undefined]
    ])("%s", async (_, state) => {
      const browser = new Browser()
      const returned = await proven(browser, "ada")
      assertRefused(browser, await browser.hub(change(returned, "state", state)))
      // What was not used up is still good.
      assert.strictEqual((await browser.hub(returned)).status, 302)
    })

    it("the state of another attempt of the same browser", async () => {
      const browser = new Browser()
      const first = await proven(browser, "ada")
      const state = (await login(browser)).searchParams.get("state") ?? ""
      assertRefused(browser, await browser.hub(change(first, "state", state)))
    })

    it("a browser that did not start the sign-in", async () => {
      const victim = new Browser()
      const returned = await proven(new Browser(), "mallory")
      assertRefused(victim, await victim.hub(returned))
      await login(victim)
      assertRefused(victim, await victim.hub(returned))
    })

    it("another nonce", async () => {
      const browser = new Browser()
      const url = await login(browser)
      assertRefused(
        browser,
        await browser.hub(await issuer.signIn(browser, change(url.href, "nonce", "n"), "ada"))
      )
    })

    it("a code of another verifier", async () => {
      const browser = new Browser()
      const url = change((await login(browser)).href, "code_challenge", "A".repeat(43))
      assertRefused(browser, await browser.hub(await issuer.signIn(browser, url, "ada")))
    })

    it("a used code and a used address", async () => {
      const browser = new Browser()
      const returned = await proven(browser, "ada")
      assert.strictEqual((await browser.hub(returned)).status, 302)
      const again = new Browser()
      browser.cookies(hub.url).delete("__Host-corral")
      assertRefused(browser, await browser.hub(returned))
      const state = (await login(again)).searchParams.get("state") ?? ""
      assertRefused(again, await again.hub(change(returned, "state", state)))
    })

    it("all but one of concurrent returns", async () => {
      const browser = new Browser()
      const returned = await proven(browser, "ada")
      const answers = await Promise.all(Array.from({ length: 5 }, () => browser.hub(returned)))
      assert.deepStrictEqual(answers.map(({ status }) => status).toSorted(), [302, 401, 401, 401, 401])
    })

    it("an unknown code, and the response of another issuer", async () => {
      const browser = new Browser()
      assertRefused(browser, await browser.hub(change(await proven(browser, "ada"), "code", "x".repeat(43))))
      assertRefused(
        browser,
        await browser.hub(change(await proven(browser, "ada"), "iss", "https://evil.example"))
      )
      assertRefused(browser, await browser.hub(change(await proven(browser, "ada"), "iss", undefined)))
    })

    it("a sign-in cancelled at the provider", async () => {
      const browser = new Browser()
      const url = await login(browser)
      const state = url.searchParams.get("state") ?? ""
      const query = new URLSearchParams({ error: "access_denied", state, iss: issuer.url })
      assertRefused(browser, await browser.hub(`${hub.url}/client/auth/callback?${query}`))
    })

    it("repeated and malformed parameters", async () => {
      const browser = new Browser()
      for (const query of ["state=a&state=b", `state=${"x".repeat(5_000)}`])
        assert.strictEqual(
          codeOf(await browser.hub(`${hub.url}/client/auth/callback?${query}`)),
          "schema_validation_failed"
        )
      for (const query of ["state=%00", "state=%ED%A0%80", "state=';--"])
        assertRefused(browser, await browser.hub(`${hub.url}/client/auth/callback?${query}`))
    })
  })

  it.each([
    "https://evil.example",
    "//evil.example",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "/%2Fevil.example",
    "/%5Cevil.example",
    "/..//evil.example",
    "/./%2f/evil.example",
    "/\t/evil.example",
    "javascript:alert(1)",
    "evil.example",
    "@evil.example",
    "/\u0000",
    ""
  ])("returns to the start page, not to %j", async (returnTo) => {
    const browser = new Browser()
    const returned = await proven(browser, "ada", `?returnTo=${encodeURIComponent(returnTo)}`)
    assert.strictEqual(locationOf(await browser.hub(returned)), `${hub.url}/`)
  })

  it("takes the callback address from the settings, not from Host", async () => {
    const url = await login(new Browser())
    assert.strictEqual(url.searchParams.get("redirect_uri"), `${hub.url}/client/auth/callback`)
    const localhost = hub.url.replace("127.0.0.1", "localhost")
    const other = await new Browser().hub(`${localhost}/client/auth/login?returnTo=%2Fa`)
    assert.strictEqual(locationOf(other), `${hub.url}/client/auth/login?returnTo=%2Fa`)
    assert.strictEqual(url.searchParams.get("code_challenge_method"), "S256")
    assert.strictEqual(url.searchParams.get("scope"), "openid profile email")
  })

  it("records sign-ins and refusals", async () => {
    const browser = new Browser()
    issuer.people.set("barbara", { name: "Barbara" })
    await browser.hub(await proven(browser, "barbara"))
    const { body } = await browser.hub(`${hub.url}/client/audit`)
    const { items } = body as { readonly items: ReadonlyArray<Record<string, unknown>> }
    assert.deepStrictEqual(
      items.map(({ action, outcome }) => [action, outcome]),
      [["sign_in.issue", "allowed"]]
    )
  })

  it("logs no secrets", () => {
    assert.include(hub.stderr, "invalid_grant")
    assert.notInclude(hub.stderr, CLIENT_SECRET)
    assert.notMatch(hub.stderr, /corral_s_|code=|state=|eyJ/)
  })
})
