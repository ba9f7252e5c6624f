import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Result } from "effect"
import { generateKeyPairSync } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { readSettings } from "@corral/service/settings/ReadSettings"
import { readHubConfig } from "../../src/HubSettings.ts"
import { oidcConfig } from "../../src/signin/OidcSettings.ts"

type Env = Readonly<Record<string, string>>

const least: Env = {
  CORRAL_OIDC_ISSUER: "https://idp.example/realms/r",
  CORRAL_OIDC_CLIENT_ID: "corral",
  CORRAL_OIDC_CLIENT_SECRET: "s3cret-word"
}
const oidcFrom = (env: Env) => readSettings(env, oidcConfig)
const read = (env: Env) => Effect.runSync(oidcFrom(env))
const refusal = <A>(effect: Effect.Effect<A, { readonly message: string }>): string => {
  const result = Effect.runSync(Effect.result(effect))
  return Result.isFailure(result) ? result.failure.message : "(taken)"
}

const inFile = <A>(text: string, use: (path: string) => A): A => {
  const folder = mkdtempSync(join(tmpdir(), "corral-hub-"))
  const path = join(folder, "file")
  writeFileSync(path, text)
  try {
    return use(path)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describe("Settings of the identity provider", () => {
  it("accept none, or an issuer, a client and its secret", () => {
    assert.isUndefined(read({}))
    const config = read(least)
    assert.deepInclude(config, {
      issuer: "https://idp.example/realms/r",
      clientId: "corral",
      tokenAuth: "client_secret_basic",
      scopes: "openid profile email",
      allowedGroups: [],
      allowedDomains: []
    })
    assert.notInclude(JSON.stringify(config), "s3cret")
    const { CORRAL_OIDC_CLIENT_SECRET: _, ...open } = least
    assert.isUndefined(read({ ...open, CORRAL_OIDC_TOKEN_AUTH: "none" })?.clientSecret)
  })

  it("read the secret from a file, without the line break", () => {
    const { CORRAL_OIDC_CLIENT_SECRET: _, ...open } = least
    inFile("from-a-file\n", (CORRAL_OIDC_CLIENT_SECRET_FILE) => {
      const secret = read({ ...open, CORRAL_OIDC_CLIENT_SECRET_FILE })?.clientSecret
      assert.strictEqual(secret && Redacted.value(secret), "from-a-file")
      assert.match(
        refusal(oidcFrom({ ...least, CORRAL_OIDC_CLIENT_SECRET_FILE })),
        /SECRET_FILE is not usable/
      )
    })
    inFile(" \n", (CORRAL_OIDC_CLIENT_SECRET_FILE) => {
      assert.match(
        refusal(oidcFrom({ ...open, CORRAL_OIDC_CLIENT_SECRET_FILE })),
        /SECRET_FILE is not usable/
      )
    })
  })

  it("accept a key or a secret, not both", () => {
    const { CORRAL_OIDC_CLIENT_SECRET: _, ...open } = least
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
    const pem = String(privateKey.export({ format: "pem", type: "pkcs8" }))
    inFile(pem, (CORRAL_OIDC_CLIENT_KEY_FILE) => {
      const config = read({ ...open, CORRAL_OIDC_CLIENT_KEY_FILE })
      assert.deepStrictEqual([config?.tokenAuth, config?.clientKey?.algorithm], ["private_key_jwt", "ES256"])
      assert.deepInclude(JSON.parse(JSON.stringify(config)), { clientKey: { algorithm: "ES256", key: {} } })
      const named = { ...open, CORRAL_OIDC_CLIENT_KEY_FILE }
      assert.isDefined(read({ ...named, CORRAL_OIDC_TOKEN_AUTH: "private_key_jwt" }))
      assert.match(
        refusal(oidcFrom({ ...least, CORRAL_OIDC_CLIENT_KEY_FILE })),
        /^CORRAL_OIDC_CLIENT_KEY_FILE /
      )
      for (const CORRAL_OIDC_TOKEN_AUTH of ["none", "client_secret_post"])
        assert.match(refusal(oidcFrom({ ...named, CORRAL_OIDC_TOKEN_AUTH })), /^CORRAL_OIDC_TOKEN_AUTH /)
    })
    assert.match(
      refusal(oidcFrom({ ...open, CORRAL_OIDC_TOKEN_AUTH: "private_key_jwt" })),
      /^CORRAL_OIDC_CLIENT_KEY_FILE /
    )
    inFile("-----BEGIN PRIVATE KEY-----\nZq7x\n", (CORRAL_OIDC_CLIENT_KEY_FILE) => {
      const refused = refusal(oidcFrom({ ...open, CORRAL_OIDC_CLIENT_KEY_FILE }))
      assert.match(refused, /^CORRAL_OIDC_CLIENT_KEY_FILE is not usable/)
      assert.notInclude(refused, "Zq7x")
    })
  })

  it("list groups and domains", () => {
    const config = read({
      ...least,
      CORRAL_OIDC_ALLOWED_GROUPS: " a b ,c,, ",
      CORRAL_OIDC_ALLOWED_DOMAINS: "X.Example"
    })
    assert.deepStrictEqual(config?.allowedGroups, ["a b", "c"])
    assert.deepStrictEqual(config?.allowedDomains, ["x.example"])
  })

  it.each(["http://127.0.0.1:8080", "http://localhost:1/realms/x", "http://[::1]:2", "https://idp.example/"])(
    "take the issuer %s",
    (issuer) => {
      assert.strictEqual(read({ ...least, CORRAL_OIDC_ISSUER: issuer })?.issuer, issuer)
    }
  )

  it.each<[string, string]>([
    ["CORRAL_OIDC_ISSUER", "http://idp.example"],
    ["CORRAL_OIDC_ISSUER", "http://localhost.evil.example"],
    ["CORRAL_OIDC_ISSUER", "idp.example"],
    ["CORRAL_OIDC_ISSUER", "https://u:p@idp.example"],
    ["CORRAL_OIDC_ISSUER", "https://idp.example?x"],
    ["CORRAL_OIDC_ISSUER", "file:///etc/passwd"],
    ["CORRAL_OIDC_CLIENT_ID", " \n"],
    ["CORRAL_OIDC_TOKEN_AUTH", "basic"],
    ["CORRAL_OIDC_SCOPES", "profile email"],
    ["CORRAL_OIDC_SCOPES", "openidx"],
    ["CORRAL_OIDC_CLAIM_GROUPS", "a b"],
    ["CORRAL_OIDC_CA_FILE", "/nowhere"],
    ["CORRAL_OIDC_CLIENT_SECRET_FILE", "/nowhere"]
  ])("refuse %s=%s", (name, value) => {
    assert.match(
      refusal(oidcFrom({ ...least, [name]: value })),
      new RegExp(`^${name} is not usable: expected `)
    )
  })

  it.each<[string, Env]>([
    ["CORRAL_OIDC_ISSUER", { CORRAL_OIDC_CLIENT_ID: "x" }],
    ["CORRAL_OIDC_CLIENT_ID", { CORRAL_OIDC_ISSUER: "https://idp.example", CORRAL_OIDC_CLIENT_SECRET: "x" }],
    ["CORRAL_OIDC_CLIENT_SECRET", { CORRAL_OIDC_ISSUER: "https://idp.example", CORRAL_OIDC_CLIENT_ID: "x" }],
    ["CORRAL_OIDC_CA_FILE", { ...least, CORRAL_OIDC_CA_FILE: "/etc/hostname" }]
  ])("miss %s", (name, env) => {
    assert.match(refusal(oidcFrom(env)), new RegExp(`^${name} is not usable: expected `))
  })
})

describe("CORRAL_HUB_DEV_SIGN_IN", () => {
  const refusalFor = (env: Env) => refusal(readHubConfig({ CORRAL_HUB_DEV_SIGN_IN: "1", ...env }))

  it("is accepted on loopback without another provider", () => {
    assert.strictEqual(refusalFor({}), "(taken)")
    assert.strictEqual(refusalFor({ CORRAL_HUB_PUBLIC_URL: "http://localhost:4000" }), "(taken)")
    assert.strictEqual(
      refusalFor({ CORRAL_HUB_HOST: "::1", CORRAL_HUB_PUBLIC_URL: "http://[::1]:4000" }),
      "(taken)"
    )
  })

  it.each<[Env]>([
    [{ CORRAL_HUB_DEV_SIGN_IN: "yes" }],
    [{ CORRAL_HUB_HOST: "0.0.0.0", CORRAL_HUB_PUBLIC_URL: "https://hub.example" }],
    [{ CORRAL_HUB_PUBLIC_URL: "https://hub.example" }],
    [least]
  ])("is refused otherwise (%#)", (env) => {
    assert.match(refusalFor(env), /^CORRAL_HUB_DEV_SIGN_IN is not usable/)
  })
})
