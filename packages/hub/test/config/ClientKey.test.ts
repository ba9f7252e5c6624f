import { assert, describe, it } from "@effect/vitest"
import * as client from "openid-client"
import { execFileSync, spawnSync } from "node:child_process"
import { createHash, generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { decodeJwt, decodeProtectedHeader, jwtVerify } from "jose"
import { clientKeyAuth, clientKeyFrom } from "../../src/config/ClientKey.ts"

const rsa = generateKeyPairSync("rsa", { modulusLength: 2_048 })
const p256 = generateKeyPairSync("ec", { namedCurve: "P-256" })
const p384 = generateKeyPairSync("ec", { namedCurve: "P-384" })
const pem = (key: KeyObject) => String(key.export({ format: "pem", type: "pkcs8" }))
const jwk = (key: KeyObject, more: object = {}) =>
  JSON.stringify({ ...key.export({ format: "jwk" }), ...more })

/** The assertion that the key makes for a provider. */
const assertionOf = async (text: string): Promise<string> => {
  const key = clientKeyFrom(text)
  assert.isDefined(key)
  const body = new URLSearchParams()
  const metadata = { issuer: "https://idp.example", token_endpoint: "https://idp.example/token" }
  const server = new client.Configuration(metadata, "corral").serverMetadata()
  await clientKeyAuth(key)(server, { client_id: "corral" }, body, new Headers())
  return body.get("client_assertion") ?? ""
}

/** The key together with its certificate, as PEM. */
const certified = (key: KeyObject): string => {
  const folder = mkdtempSync(join(tmpdir(), "corral-hub-"))
  const [at, out] = [join(folder, "key.pem"), join(folder, "certificate.pem")]
  try {
    writeFileSync(at, pem(key), { mode: 0o600 })
    execFileSync("openssl", ["req", "-x509", "-key", at, "-subj", "/CN=corral", "-out", out], {
      stdio: "ignore"
    })
    return pem(key) + readFileSync(out, "utf8")
  } finally {
    rmSync(folder, { recursive: true })
  }
}
const openssl = spawnSync("openssl", ["version"]).status === 0

describe("clientKeyFrom", () => {
  it.each([
    ["RSA as PEM", pem(rsa.privateKey), "RS256", undefined, rsa.publicKey],
    ["P-256 as PEM", pem(p256.privateKey), "ES256", undefined, p256.publicKey],
    ["P-384 as a JWK", jwk(p384.privateKey, { kid: "k7" }), "ES384", "k7", p384.publicKey],
    ["RSA as a JWK", jwk(rsa.privateKey, { alg: "PS256", kid: "k8" }), "PS256", "k8", rsa.publicKey]
  ] as const)("takes %s and signs with it", async (_, text, alg, kid, publicKey) => {
    const assertion = await assertionOf(text)
    const { payload, protectedHeader } = await jwtVerify(assertion, publicKey, {
      issuer: "corral",
      subject: "corral",
      audience: "https://idp.example"
    })
    assert.deepStrictEqual([protectedHeader.alg, protectedHeader.kid], [alg, kid])
    assert.strictEqual((payload.exp ?? 0) - (payload.iat ?? 0), 60)
    assert.isString(payload.jti)
  })

  it.skipIf(!openssl)("takes a certificate beside it, and signs as Entra ID asks", async () => {
    const file = certified(rsa.privateKey)
    const assertion = await assertionOf(file)
    const header = decodeProtectedHeader(assertion)
    const thumbprint = createHash("sha256").update(new X509Certificate(file).raw).digest("base64url")
    assert.deepStrictEqual([header.alg, header["x5t#S256"]], ["PS256", thumbprint])
    assert.strictEqual(decodeJwt(assertion).aud, "https://idp.example/token")
  })

  it.each([
    ["nothing", ""],
    ["a text", "secret"],
    ["a public key", String(rsa.publicKey.export({ format: "pem", type: "spki" }))],
    ["a public JWK", jwk(p256.publicKey)],
    ["a short RSA key", pem(generateKeyPairSync("rsa", { modulusLength: 1_024 }).privateKey)],
    ["another curve", pem(generateKeyPairSync("ec", { namedCurve: "P-521" }).privateKey)],
    ["an algorithm that is not the key's", jwk(p256.privateKey, { alg: "RS256" })],
    ["an unknown algorithm", jwk(rsa.privateKey, { alg: "none" })],
    ["a JWK that is none", "{}"]
  ])("is not %s", (_, text) => {
    assert.isUndefined(clientKeyFrom(text))
  })
})
