import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { generateKeyPairSync, type KeyObject } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Browser, locationOf } from "@corral/testing/hub/Browser"
import { codeOf } from "@corral/testing/hub/HubClient"
import { openHubInProcess } from "@corral/testing/hub/HubInProcess"
import { Issuer } from "../harness/Issuer.ts"

const p256 = () => generateKeyPairSync("ec", { namedCurve: "P-256" })
const pem = (key: KeyObject) => String(key.export({ format: "pem", type: "pkcs8" }))

/** What comes of a sign-in at a provider that knows a public key of its client, of a Hub that has a private one. */
const signedIn = async (file: string, publicKey: KeyObject, alg: string, kid?: string) => {
  const folder = mkdtempSync(join(tmpdir(), "corral-hub-"))
  const issuer = await Issuer.open()
  onTestFinished(async () => {
    await issuer.close()
    rmSync(folder, { recursive: true })
  })
  const key = {
    ...publicKey.export({ format: "jwk" }),
    alg,
    use: "sig",
    ...(kid === undefined ? {} : { kid })
  }
  issuer.clientAuth = {
    token_endpoint_auth_method: "private_key_jwt",
    token_endpoint_auth_signing_alg: alg,
    jwks: { keys: [key] }
  }
  const path = join(folder, "key")
  writeFileSync(path, file, { mode: 0o600 })
  const { CORRAL_OIDC_CLIENT_SECRET: _, ...env } = issuer.env
  const hub = await openHubInProcess({ env: { ...env, CORRAL_OIDC_CLIENT_KEY_FILE: path } })
  await issuer.serve(hub.url)
  const browser = new Browser()
  const departure = locationOf(await browser.hub(`${hub.url}/client/auth/login`))
  const answer = await browser.hub(await issuer.signIn(browser, departure, "ada"))
  const me = await browser.hub(`${hub.url}/client/auth/me`)
  return { answer, me, log: hub.stderr }
}

describe("A client that authenticates with a key", () => {
  it("signs in with a PEM key", async () => {
    const { privateKey, publicKey } = p256()
    const { answer, me } = await signedIn(pem(privateKey), publicKey, "ES256")
    assert.strictEqual(answer.status, 302)
    assert.deepInclude((me.body as { readonly user: object }).user, { name: "ada" })
  })

  it("signs in with a JWK selected by its id", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 })
    const file = JSON.stringify({ ...privateKey.export({ format: "jwk" }), kid: "k1", alg: "PS256" })
    const { answer, me } = await signedIn(file, publicKey, "PS256", "k1")
    assert.deepStrictEqual([answer.status, me.status], [302, 200])
  })

  it("is refused with another key, without details", async () => {
    const { privateKey } = p256()
    const { answer, log, me } = await signedIn(pem(privateKey), p256().publicKey, "ES256")
    assert.strictEqual(codeOf(answer), "unauthorized")
    assert.strictEqual(me.status, 401)
    assert.include(log, "invalid_client")
    assert.notInclude(log, pem(privateKey).split("\n")[1] ?? "-")
  })
})
