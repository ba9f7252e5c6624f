import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { Browser, locationOf } from "@corral/testing/hub/Browser"
import {
  actingAs,
  bindingRequired,
  confirmedLink,
  gatewayEnv,
  gatewayOf,
  messageReceived,
  newAccount,
  Person
} from "@corral/testing/hub/Chats"
import { codeOf } from "@corral/testing/hub/HubClient"
import { HubInProcess, openHubInProcess } from "@corral/testing/hub/HubInProcess"
import { CLIENT_ID, Issuer } from "../harness/Issuer.ts"
import type { UserId } from "@corral/domain/identity/Ids"

describe("Chat accounts and the identity provider", () => {
  let issuer: Issuer
  let hub: HubInProcess
  beforeAll(async () => {
    issuer = await Issuer.open()
    hub = new HubInProcess({ env: { ...issuer.env, ...gatewayEnv } })
    await hub.start()
    await issuer.serve(hub.url)
  })
  afterAll(async () => {
    await hub.remove()
    await issuer.close()
  })

  const signIn = async (browser: Browser, name: string, query = ""): Promise<UserId> => {
    const redirect = await browser.hub(`${hub.url}/client/auth/login${query}`)
    const returned = await browser.hub(await issuer.signIn(browser, locationOf(redirect), name))
    assert.strictEqual(returned.status, 302, returned.text)
    const { body } = await browser.hub(`${hub.url}/client/auth/me`)
    return (body as { readonly user: { readonly id: UserId } }).user.id
  }

  const bound = async (userId: UserId) => {
    const account = newAccount()
    const number = await confirmedLink(hub, account, userId)
    const created = await gatewayOf(hub).ask("POST", "/integrations/bindings", {
      body: { ...account, number }
    })
    assert.strictEqual(created.status, 201, created.text)
    return account
  }

  const logOut = async (claims: object) => {
    const seconds = Math.floor(Date.now() / 1_000)
    const logout_token = await issuer.sign(
      {
        iss: issuer.url,
        aud: CLIENT_ID,
        iat: seconds,
        exp: seconds + 60,
        jti: randomUUID(),
        events: { "http://schemas.openid.net/event/backchannel-logout": {} },
        ...claims
      },
      { typ: "logout+jwt" }
    )
    const answer = await hub.client.ask("POST", "/client/auth/backchannel-logout", {
      body: String(new URLSearchParams({ logout_token })),
      headers: { "content-type": "application/x-www-form-urlencoded" }
    })
    assert.strictEqual(answer.status, 200, answer.text)
  }

  it("end with a logout of the user, not of one session", async () => {
    const [ada, grace] = [await signIn(new Browser(), "ada"), await signIn(new Browser(), "grace")]
    const [hers, others] = [await bound(ada), await bound(grace)]
    const me = (account: typeof hers) => gatewayOf(hub).ask("GET", "/client/auth/me", actingAs(account))
    const [row] = await hub.people.act(
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql<{ readonly sid: string }>`
          SELECT provider_session AS sid FROM sign_ins WHERE user_id = ${ada} AND provider_session IS NOT NULL`
      )
    )
    assert.isDefined(row)
    await logOut({ sub: "ada", sid: row?.sid })
    assert.strictEqual((await me(hers)).status, 200)
    await logOut({ sub: "ada" })
    assert.strictEqual(codeOf(await me(hers)), "binding_required")
    const response = await gatewayOf(hub).ask("POST", "/integrations/events", { body: messageReceived(hers) })
    assert.strictEqual(codeOf(response), "binding_required")
    assert.strictEqual((await me(others)).status, 200)
    // It is not there again with the next sign-in.
    await signIn(new Browser(), "ada")
    assert.strictEqual(codeOf(await me(hers)), "binding_required")
  })

  it("require a fresh sign-in, although the provider has a session", async () => {
    const browser = new Browser()
    const userId = await signIn(browser, "barbara")
    // Without it the provider would send the browser back at once.
    const silent = locationOf(await browser.hub(`${hub.url}/client/auth/login`))
    assert.strictEqual(new URL(locationOf(await browser.send(silent))).origin, hub.url)
    const fresh = locationOf(await browser.hub(`${hub.url}/client/auth/login?fresh=1&returnTo=/link/x`))
    const { searchParams } = new URL(fresh)
    assert.deepStrictEqual([searchParams.get("prompt"), searchParams.get("max_age")], ["login", "300"])
    const request = new URL(locationOf(await browser.send(fresh)), issuer.url)
    assert.match(request.pathname, /^\/interaction\//)
    assert.strictEqual(await signIn(browser, "barbara", "?fresh=1"), userId)
  })

  it("reject an old sign-in that claims to be fresh", async () => {
    const browser = new Browser()
    await signIn(browser, "edsger")
    const fresh = new URL(locationOf(await browser.hub(`${hub.url}/client/auth/login?fresh=1`)))
    fresh.searchParams.delete("prompt")
    fresh.searchParams.delete("max_age")
    const returned = await browser.hub(await issuer.signIn(browser, fresh.href, "edsger"))
    // The Hub did not request the time, so the provider did not report it.
    assert.strictEqual(codeOf(returned), "unauthorized")
  })

  it.each(["fresh=", "fresh=2", "fresh=1&fresh=1"])("reject another value of fresh (%s)", async (query) => {
    const answer = await hub.client.ask("GET", `/client/auth/login?${query}`)
    assert.strictEqual(codeOf(answer), "schema_validation_failed")
  })

  it("complete after a detour to the provider", async () => {
    const account = newAccount()
    const started = await gatewayOf(hub).ask<{ readonly link: { readonly url: string } }>(
      "POST",
      "/integrations/events",
      { body: bindingRequired(account) }
    )
    const { url } = started.body.link
    const code = url.slice(-43)
    const person = new Person(hub.url, new Browser())
    await person.open(code)
    assert.strictEqual(codeOf(await person.look(code)), "unauthorized")
    const redirect = await person.browser.hub(`${hub.url}/client/auth/login?returnTo=/link/${code}`)
    const returned = await person.browser.hub(
      await issuer.signIn(person.browser, locationOf(redirect), "mary")
    )
    // The browser follows the redirect, and the page is opened with a sign-in for the first time.
    assert.strictEqual(new URL(locationOf(returned), hub.url).pathname, `/link/${code}`)
    await person.browser.send(new URL(locationOf(returned), hub.url).href)
    const { body: session } = await person.browser.hub(`${hub.url}/client/auth/me`)
    const { id: userId } = (session as { readonly user: { readonly id: UserId } }).user
    const confirmed = await person.confirm(code)
    assert.strictEqual(confirmed.status, 200, confirmed.text)
    const { number } = confirmed.body as { readonly number: string }
    const created = await gatewayOf(hub).ask("POST", "/integrations/bindings", {
      body: { ...account, number }
    })
    assert.strictEqual(created.status, 201, created.text)
    const me = await gatewayOf(hub).ask<{ readonly user: { readonly id: string } }>(
      "GET",
      "/client/auth/me",
      actingAs(account)
    )
    assert.strictEqual(me.body.user.id, userId)
  })

  it("require a fresh sign-in also at the provider for development", async () => {
    const development = await openHubInProcess({ env: { CORRAL_HUB_DEV_SIGN_IN: "1" } })
    const browser = new Browser()
    /** Goes to the provider and back; gives how often it asked for a name. */
    const through = async (query: string): Promise<number> => {
      const redirect = locationOf(await browser.hub(`${development.url}/client/auth/login${query}`))
      let [next, redirects] = [new URL(redirect), 0]
      while (next.origin === new URL(redirect).origin) {
        const page = await browser.send(next.href)
        const names = page.status === 200 && (await page.text()).includes("Your name")
        if (names) redirects++
        const answer = names
          ? await browser.send(next.href, { method: "POST", body: new URLSearchParams({ name: "Ada" }) })
          : page
        assert.notStrictEqual(locationOf(answer), "", `${next.pathname} ${answer.status}`)
        next = new URL(locationOf(answer), next)
      }
      assert.strictEqual((await browser.hub(next.href)).status, 302)
      return redirects
    }
    assert.deepStrictEqual([await through(""), await through(""), await through("?fresh=1")], [1, 0, 1])
  })
})

describe("A Hub without a Gateway", () => {
  it("accepts no token", async () => {
    const hub = await openHubInProcess()
    const account = newAccount()
    const answers = [
      await gatewayOf(hub).ask("POST", "/integrations/events", { body: messageReceived(account) }),
      await gatewayOf(hub).ask("GET", "/client/auth/me", actingAs(account)),
      await gatewayOf(hub).ask("GET", "/client/auth/me")
    ]
    for (const answer of answers) assert.strictEqual(codeOf(answer), "unauthorized")
  })
})
