/** Settings of the identity provider, as environment variables. */
import { capped } from "@corral/domain/text/CappedPattern"
import { isLoopback } from "@corral/service/Addresses"
import { fileAt, secretOf } from "@corral/service/SecretSettings"
import {
  type Environment,
  valueOr,
  invalidSetting,
  splitList,
  settingReader,
  type Setting,
  type SettingInvalid
} from "@corral/service/Settings"
import { Effect, Schema } from "effect"
import { clientKeyFrom } from "../config/ClientKey.ts"
import { type OidcConfig, oidcDefaults, tokenAuths } from "../config/OidcConfig.ts"

export const oidcSettings = [
  {
    name: "CORRAL_OIDC_ISSUER",
    what: "Issuer of the identity provider, exactly as in its metadata. Without it, sign-in is not possible. Plain http is accepted on loopback only.",
    fallback: ""
  },
  { name: "CORRAL_OIDC_CLIENT_ID", what: "Client id of the Hub at the identity provider.", fallback: "" },
  {
    name: "CORRAL_OIDC_CLIENT_SECRET",
    what: "The client's secret. `CORRAL_OIDC_CLIENT_SECRET_FILE` keeps it out of the environment.",
    fallback: ""
  },
  { name: "CORRAL_OIDC_CLIENT_SECRET_FILE", what: "A file with the client's secret.", fallback: "" },
  {
    name: "CORRAL_OIDC_CLIENT_KEY_FILE",
    what: "A file with the client's private key, used instead of a secret: PEM, optionally with the certificate, or a JWK. RSA of 2,048 bits or more, P-256 or P-384.",
    fallback: ""
  },
  {
    name: "CORRAL_OIDC_TOKEN_AUTH",
    what: "Client authentication: `client_secret_basic`, `client_secret_post`, `private_key_jwt`, or `none` for a public client. With a key, `private_key_jwt` is the default.",
    fallback: oidcDefaults.tokenAuth
  },
  {
    name: "CORRAL_OIDC_SCOPES",
    what: "Requested scopes, separated by spaces. Must include `openid`.",
    fallback: oidcDefaults.scopes
  },
  {
    name: "CORRAL_OIDC_CLAIM_NAME",
    what: "Claim with the user's name: a name, or a path such as `profile.name`.",
    fallback: oidcDefaults.claims.name
  },
  {
    name: "CORRAL_OIDC_CLAIM_EMAIL",
    what: "Claim with the email address. `email` counts only with `email_verified`. The address is shown, but does not identify a user.",
    fallback: oidcDefaults.claims.email
  },
  {
    name: "CORRAL_OIDC_CLAIM_GROUPS",
    what: "Claim with the groups: a list of names, or an object with the names as keys.",
    fallback: oidcDefaults.claims.groups
  },
  {
    name: "CORRAL_OIDC_ALLOWED_GROUPS",
    what: "Groups, separated by commas. Users need one of them to sign in.",
    fallback: ""
  },
  {
    name: "CORRAL_OIDC_ALLOWED_DOMAINS",
    what: "Domains, separated by commas. The email address must be in one of them.",
    fallback: ""
  },
  {
    name: "CORRAL_OIDC_CA_FILE",
    what: "PEM certificates that are trusted for the identity provider in addition to the system's.",
    fallback: ""
  },
  { name: "CORRAL_OIDC_PROMPT", what: "Value of `prompt`, such as `select_account`.", fallback: "" },
  { name: "CORRAL_OIDC_ACR_VALUES", what: "Value of `acr_values`.", fallback: "" }
] as const satisfies ReadonlyArray<Setting>

type Name = (typeof oidcSettings)[number]["name"]

const Issuer = Schema.String.check(
  Schema.makeFilter((text) => {
    const url = URL.parse(text)
    return (
      (url !== null &&
        (url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname))) &&
        url.username === "" &&
        url.search === "" &&
        url.hash === "") ||
      "Expected an issuer"
    )
  })
)

const Scopes = Schema.String.check(
  Schema.isPattern(capped(4_096, /^(?=.*(^| )openid( |$))[!#-[\]-~]+( [!#-[\]-~]+)*$/))
)
const Printable = Schema.String.check(Schema.isPattern(/^[ -~]{1,1000}$/))
const ClaimPlace = Schema.String.check(Schema.isPattern(/^[^\p{Cc}\s]{1,200}$/u))

const keyOf = Effect.fnUntraced(function* (env: Environment) {
  const text = yield* fileAt(env, "CORRAL_OIDC_CLIENT_KEY_FILE")
  if (text === undefined) return undefined
  const key = clientKeyFrom(text)
  return (
    key ??
    (yield* invalidSetting(
      "CORRAL_OIDC_CLIENT_KEY_FILE",
      "a file with a private key, as PEM or a JWK: RSA of 2048 bits or more, P-256 or P-384"
    ))
  )
})

/** Identity provider of an environment; `undefined` if none is configured. */
export const oidcFrom = Effect.fnUntraced(function* (
  env: Environment
): Effect.fn.Return<OidcConfig | undefined, SettingInvalid> {
  const read = settingReader<Name>(env)
  const issuer = yield* read(
    "CORRAL_OIDC_ISSUER",
    Issuer,
    undefined,
    "the issuer's address with https, or with http on loopback"
  )
  const clientId = yield* read("CORRAL_OIDC_CLIENT_ID", Printable, undefined, "printable characters")
  const clientSecret = yield* secretOf(env, "CORRAL_OIDC_CLIENT_SECRET")
  const clientKey = yield* keyOf(env)
  if (issuer === undefined) {
    const unusedSetting = oidcSettings.find(({ name }) => valueOr(env[name], undefined) !== undefined)
    return unusedSetting === undefined
      ? undefined
      : yield* invalidSetting("CORRAL_OIDC_ISSUER", `an issuer, because ${unusedSetting.name} is set`)
  }
  if (clientId === undefined)
    return yield* invalidSetting("CORRAL_OIDC_CLIENT_ID", "a client id, because CORRAL_OIDC_ISSUER is set")
  const tokenAuth = yield* read(
    "CORRAL_OIDC_TOKEN_AUTH",
    Schema.Literals(tokenAuths),
    clientKey === undefined ? oidcDefaults.tokenAuth : ("private_key_jwt" as const),
    "client_secret_basic, client_secret_post, private_key_jwt or none"
  )
  if (clientKey !== undefined && clientSecret !== undefined)
    return yield* invalidSetting(
      "CORRAL_OIDC_CLIENT_KEY_FILE",
      "no file while CORRAL_OIDC_CLIENT_SECRET is set"
    )
  if ((tokenAuth === "private_key_jwt") !== (clientKey !== undefined))
    return yield* clientKey === undefined
      ? invalidSetting(
          "CORRAL_OIDC_CLIENT_KEY_FILE",
          "a key, because CORRAL_OIDC_TOKEN_AUTH is private_key_jwt"
        )
      : invalidSetting(
          "CORRAL_OIDC_TOKEN_AUTH",
          "private_key_jwt, because CORRAL_OIDC_CLIENT_KEY_FILE is set"
        )
  if (tokenAuth !== "none" && clientKey === undefined && clientSecret === undefined)
    return yield* invalidSetting(
      "CORRAL_OIDC_CLIENT_SECRET",
      "a secret, CORRAL_OIDC_CLIENT_KEY_FILE or CORRAL_OIDC_TOKEN_AUTH=none"
    )
  const { claims } = oidcDefaults
  const expected = "the name of a claim, or a path to it"
  return {
    issuer,
    clientId,
    clientKey,
    clientSecret,
    tokenAuth,
    scopes: yield* read("CORRAL_OIDC_SCOPES", Scopes, oidcDefaults.scopes, "scopes with openid among them"),
    claims: {
      name: yield* read("CORRAL_OIDC_CLAIM_NAME", ClaimPlace, claims.name, expected),
      email: yield* read("CORRAL_OIDC_CLAIM_EMAIL", ClaimPlace, claims.email, expected),
      groups: yield* read("CORRAL_OIDC_CLAIM_GROUPS", ClaimPlace, claims.groups, expected)
    },
    allowedGroups: splitList(env["CORRAL_OIDC_ALLOWED_GROUPS"]),
    allowedDomains: splitList(env["CORRAL_OIDC_ALLOWED_DOMAINS"]).map((domain) => domain.toLowerCase()),
    certificates: yield* certificatesAt(env),
    prompt: yield* read("CORRAL_OIDC_PROMPT", Printable, undefined, "printable characters"),
    acrValues: yield* read("CORRAL_OIDC_ACR_VALUES", Printable, undefined, "printable characters")
  }
})

const certificatesAt = Effect.fnUntraced(function* (env: Environment) {
  const text = yield* fileAt(env, "CORRAL_OIDC_CA_FILE")
  return text === undefined || text.includes("-----BEGIN CERTIFICATE-----")
    ? text
    : yield* invalidSetting("CORRAL_OIDC_CA_FILE", "a file with certificates as PEM")
})
