import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { createServer } from "node:http"
import { Browser, locationOf } from "@corral/testing/hub/Browser"
import { codeOf } from "@corral/testing/hub/HubClient"
import { openHubInProcess } from "@corral/testing/hub/HubInProcess"
import { HubProcess } from "@corral/testing/hub/HubProcess"
import { Issuer } from "../harness/Issuer.ts"

describe("A Hub and its identity provider", () => {
  const openIssuer = async (): Promise<Issuer> => {
    const issuer = await Issuer.open()
    onTestFinished(() => issuer.close())
    return issuer
  }

  it("names the missing settings without a provider", async () => {
    const hub = await openHubInProcess()
    const answers = [
      await hub.client.ask<{ readonly message: string }>("GET", "/client/auth/login"),
      await hub.client.ask<{ readonly message: string }>("GET", "/client/auth/callback?state=x&code=y")
    ]
    for (const answer of answers) {
      assert.strictEqual(codeOf(answer), "not_found")
      assert.include(answer.body.message, "CORRAL_OIDC_ISSUER")
    }
  })

  it("starts without its provider, and reports that it is unreachable", async () => {
    const issuer = await Issuer.open()
    const hub = await openHubInProcess({ env: issuer.env })
    await issuer.close()
    assert.strictEqual(codeOf(await hub.client.ask("GET", "/client/auth/login")), "overloaded")
    const broken = createServer((_, response) => response.writeHead(500).end("{}"))
    await new Promise<void>((resolve) =>
      broken.listen({ host: "127.0.0.1", port: Number(new URL(issuer.url).port) }, resolve)
    )
    onTestFinished(() => void broken.close())
    assert.strictEqual(codeOf(await hub.client.ask("GET", "/client/auth/login")), "overloaded")
  })

  it("admits the users that the settings allow", async () => {
    const issuer = await openIssuer()
    const hub = await openHubInProcess({
      env: {
        ...issuer.env,
        CORRAL_OIDC_CLAIM_GROUPS: "realm.roles",
        CORRAL_OIDC_ALLOWED_GROUPS: "corral-users, admins",
        CORRAL_OIDC_ALLOWED_DOMAINS: "Example.com"
      }
    })
    await issuer.serve(hub.url)
    const enters = async (name: string, claims: Record<string, unknown>) => {
      issuer.people.set(name, claims)
      const browser = new Browser()
      const signIn = await browser.hub(`${hub.url}/client/auth/login`)
      const answer = await browser.hub(await issuer.signIn(browser, locationOf(signIn), name))
      return answer.status === 302 || codeOf(answer)
    }
    const email = { email: "a@example.com", email_verified: true }
    const groups = (...roles: ReadonlyArray<string>) => ({ realm: { roles } })
    assert.isTrue(await enters("member", { ...email, ...groups("admins") }))
    assert.isTrue(await enters("keyed", { ...email, realm: { roles: { "corral-users": { org: "x" } } } }))
    assert.strictEqual(await enters("stranger", { ...email, ...groups("others") }), "permission_denied")
    assert.strictEqual(await enters("groupless", email), "permission_denied")
    assert.strictEqual(
      await enters("elsewhere", { ...groups("admins"), email: "a@evil.com", email_verified: true }),
      "permission_denied"
    )
    assert.strictEqual(
      await enters("unverified", { ...groups("admins"), email: "a@example.com", email_verified: false }),
      "permission_denied"
    )
    assert.strictEqual(
      await enters("lookalike", { ...email, ...groups("admins"), email: "a@example.com.evil.com" }),
      "permission_denied"
    )
  })

  it("limits started and refused sign-ins by address", async () => {
    const issuer = await openIssuer()
    const hub = await openHubInProcess({ env: { ...issuer.env, CORRAL_HUB_SIGN_INS_PER_MINUTE: "5" } })
    await issuer.serve(hub.url)
    const ada = await hub.signedIn("ada")
    const statuses: Array<number> = []
    for (let i = 0; i < 3; i++) statuses.push((await hub.client.ask("GET", "/client/auth/login")).status)
    for (let i = 0; i < 3; i++)
      statuses.push(
        (await hub.client.ask("POST", "/client/auth/device/token", { body: { deviceCode: "x" } })).status
      )
    assert.deepStrictEqual(statuses, [302, 302, 302, 401, 401, 429])
    const limited = await hub.client.ask("POST", "/client/auth/device/start", { body: { kind: "cli" } })
    assert.deepStrictEqual([codeOf(limited), limited.headers.get("retry-after")], ["rate_limited", "12"])
    for (const [method, path, body] of [
      ["GET", "/client/auth/login", undefined],
      ["GET", "/client/auth/callback?state=x", undefined],
      ["POST", "/client/auth/device/approve", { userCode: "BCDF-GHJK", decision: "allow" }]
    ] as const)
      assert.strictEqual(codeOf(await ada.ask(method, path, { body })), "rate_limited")
    // Existing sign-ins continue.
    assert.strictEqual((await ada.ask("GET", "/client/auth/me")).status, 200)
    assert.strictEqual((await ada.ask("POST", "/client/auth/refresh")).status, 200)
  })

  it("starts a provider for development if configured", async () => {
    const hub = await openHubInProcess({ env: { CORRAL_HUB_DEV_SIGN_IN: "1" } })
    assert.include(hub.stderr, "signs in anyone under any name")

    /** Types a name at the provider; gives who that is. */
    const signIn = async (name: string) => {
      const browser = new Browser()
      const redirect = locationOf(await browser.hub(`${hub.url}/client/auth/login?returnTo=/here`))
      const issuer = new URL(redirect).origin
      assert.match(issuer, /^http:\/\/127\.0\.0\.1:\d+$/)
      const page = new URL(locationOf(await browser.send(redirect)), issuer).href
      const shown = await browser.send(page)
      assert.include(await shown.text(), "Your name")
      assert.include(shown.headers.get("content-security-policy") ?? "", "default-src 'none'")
      const sent = await browser.send(page, { method: "POST", body: new URLSearchParams({ name }) })
      let next = new URL(locationOf(sent), issuer).href
      for (let steps = 0; steps < 5 && next.startsWith(issuer); steps++)
        next = new URL(locationOf(await browser.send(next)), issuer).href
      assert.strictEqual(locationOf(await browser.hub(next)), `${hub.url}/here`)
      const { body } = await browser.hub(`${hub.url}/client/auth/me`)
      const { user } = body as { readonly user: { readonly id: string; readonly name: string } }
      assert.strictEqual(user.name, name)
      return { id: user.id, issuer }
    }
    const { id, issuer } = await signIn("Ada L.")
    assert.notStrictEqual((await signIn("Grace H.")).id, id)
    const rebound = await fetch(
      `${issuer.replace("127.0.0.1", "localhost")}/.well-known/openid-configuration`
    )
    assert.strictEqual(rebound.status, 403)
    assert.deepStrictEqual(await hub.end("SIGTERM"), { code: 0, signal: null })
    assert.notMatch(hub.stderr, /oidc-provider/)
    // Its address is another one now.
    await hub.start()
    assert.strictEqual((await signIn("Ada L.")).id, id)
  })

  it("does not start with contradictory settings, and names them", async () => {
    const env = {
      CORRAL_HUB_DEV_SIGN_IN: "1",
      CORRAL_OIDC_ISSUER: "https://idp.example",
      CORRAL_OIDC_CLIENT_ID: "x",
      CORRAL_OIDC_CLIENT_SECRET: "s3cret-word"
    }
    const hub = new HubProcess({ env })
    onTestFinished(() => hub.remove())
    assert.strictEqual((await hub.startRefused()).code, 1)
    assert.match(hub.stderr, /^CORRAL_HUB_DEV_SIGN_IN is not usable: expected .*\.\n$/)
    assert.notInclude(hub.stderr, "s3cret")
  })
})
