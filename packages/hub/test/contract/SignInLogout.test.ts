import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from "jose"
import { randomUUID } from "node:crypto"
import { Browser, locationOf } from "@corral/testing/hub/Browser"
import { codeOf } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { CLIENT_ID, CLIENT_SECRET, Issuer } from "../harness/Issuer.ts"

const EVENT = "http://schemas.openid.net/event/backchannel-logout"
const PATH = "/client/auth/backchannel-logout"

describe("A logout token of the provider", () => {
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

  const signedIn = async (name: string): Promise<Browser> => {
    const browser = new Browser()
    const signIn = await browser.hub(`${hub.url}/client/auth/login`)
    await browser.hub(await issuer.signIn(browser, locationOf(signIn), name))
    assert.isTrue(await isSignedIn(browser))
    return browser
  }
  const isSignedIn = async (browser: Browser): Promise<boolean> =>
    (await browser.hub(`${hub.url}/client/auth/me`)).status === 200

  /** What the provider called the newest session of a person. */
  const sessionOf = (name: string): Promise<string> =>
    hub.people.act(
      Effect.flatMap(SqlClient.SqlClient, (sql) =>
        Effect.map(
          sql<{ readonly session: string }>`
            SELECT provider_session AS session FROM sign_ins JOIN users ON users.id = user_id
            WHERE subject = ${name} ORDER BY sign_ins.id DESC LIMIT 1`,
          ([row]) => row?.session ?? ""
        )
      )
    )

  const seconds = () => Math.floor(Date.now() / 1_000)
  const claims = (rest: JWTPayload): JWTPayload => ({
    iss: issuer.url,
    aud: CLIENT_ID,
    iat: seconds(),
    exp: seconds() + 120,
    jti: randomUUID(),
    events: { [EVENT]: {} },
    ...rest
  })
  const typ = "logout+jwt"
  const send = (logout_token: string) =>
    hub.client.ask("POST", PATH, {
      body: String(new URLSearchParams({ logout_token })),
      headers: { "content-type": "application/x-www-form-urlencoded" }
    })

  it("ends the sign-ins of a user who signs out at the provider", async () => {
    const browser = await signedIn("ada")
    const other = await signedIn("ada")
    await issuer.signOut(browser)
    assert.isFalse(await isSignedIn(browser))
    assert.isTrue(await isSignedIn(other))
  })

  it("ends one session by its id, once", async () => {
    const [first, second] = [await signedIn("grace"), await signedIn("grace")]
    const token = await issuer.sign(claims({ sub: "grace", sid: await sessionOf("grace") }), { typ })
    const answer = await send(token)
    assert.deepStrictEqual([answer.status, answer.headers.get("cache-control")], [200, "no-store"])
    assert.deepStrictEqual([await isSignedIn(first), await isSignedIn(second)], [true, false])
    const replay = await send(token)
    assert.strictEqual(codeOf(replay), "unauthorized")
    assert.strictEqual(replay.headers.get("cache-control"), "no-store")
  })

  it("ends all sign-ins of a user if it names no session", async () => {
    const browsers = [await signedIn("barbara"), await signedIn("barbara"), await signedIn("edsger")]
    assert.strictEqual((await send(await issuer.sign(claims({ sub: "barbara" }), { typ }))).status, 200)
    assert.deepStrictEqual(await Promise.all(browsers.map(isSignedIn)), [false, false, true])
  })

  it("ends no sign-in of another user by the id of their session", async () => {
    const browser = await signedIn("mary")
    const sid = await sessionOf("mary")
    assert.strictEqual((await send(await issuer.sign(claims({ sub: "mallory", sid }), { typ }))).status, 200)
    assert.isTrue(await isSignedIn(browser))
  })

  it("is refused if any part is invalid, and ends nothing", async () => {
    const browser = await signedIn("ken")
    const sid = await sessionOf("ken")
    const named = { sub: "ken", sid }
    const stranger = await generateKeyPair("ES256")
    const hmac = new TextEncoder().encode(CLIENT_SECRET.padEnd(32, "x"))
    const wrong: Readonly<Record<string, Promise<string> | string>> = {
      "another key": issuer.sign(claims(named), { typ }, stranger),
      "no signature": new UnsecuredJWT(claims(named)).encode(),
      "a secret for a key": new SignJWT(claims(named)).setProtectedHeader({ alg: "HS256", typ }).sign(hmac),
      "another type": issuer.sign(claims(named), { typ: "JWT" }),
      "no type": issuer.sign(claims(named)),
      "another issuer": issuer.sign(claims({ ...named, iss: "https://evil.example" }), { typ }),
      "another audience": issuer.sign(claims({ ...named, aud: "another-client" }), { typ }),
      "made long ago": issuer.sign(claims({ ...named, iat: seconds() - 200, exp: seconds() + 600 }), { typ }),
      "made in the future": issuer.sign(claims({ ...named, iat: seconds() + 200 }), { typ }),
      expired: issuer.sign(claims({ ...named, exp: seconds() - 60 }), { typ }),
      "a nonce": issuer.sign(claims({ ...named, nonce: "n" }), { typ }),
      "no events": issuer.sign(claims({ ...named, events: undefined }), { typ }),
      "another event": issuer.sign(claims({ ...named, events: { other: {} } }), { typ }),
      "an event that is no object": issuer.sign(claims({ ...named, events: { [EVENT]: 1 } }), { typ }),
      "no jti": issuer.sign({ ...claims(named), jti: undefined } as unknown as JWTPayload, { typ }),
      "no iat": issuer.sign({ ...claims(named), iat: undefined } as unknown as JWTPayload, { typ }),
      noSubject: issuer.sign(claims({}), { typ }),
      "no token": "",
      "no token at all": "a.b.c",
      "a NUL": "\u0000"
    }
    for (const [what, token] of Object.entries(wrong))
      assert.strictEqual(codeOf(await send(await token)), "unauthorized", what)
    assert.isTrue(await isSignedIn(browser))
    assert.strictEqual((await send(await issuer.sign(claims(named), { typ }))).status, 200)
    assert.isFalse(await isSignedIn(browser))
  })

  it("is a form with one field", async () => {
    const token = await issuer.sign(claims({ sub: "ada" }), { typ })
    const json = await hub.client.ask("POST", PATH, { body: { logout_token: token } })
    assert.strictEqual(codeOf(json), "unsupported_media_type")
    const headers = { "content-type": "application/x-www-form-urlencoded" }
    const none = await hub.client.ask("POST", PATH, { body: "a=b", headers })
    assert.strictEqual(codeOf(none), "schema_validation_failed")
    const long = await hub.client.ask("POST", PATH, { body: `logout_token=${"x".repeat(20_000)}`, headers })
    assert.strictEqual(codeOf(long), "schema_validation_failed")
  })

  it("never appears in the log", () => {
    assert.notMatch(hub.stderr, /eyJ/)
  })
})
