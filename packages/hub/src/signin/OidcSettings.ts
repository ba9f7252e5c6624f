/** The settings of the identity provider, as environment variables. */
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
    what: "Issuer of the identity provider, exactly as it names itself. Unset, nobody can sign in. Plain http counts on loopback alone.",
    fallback: ""
  },
  { name: "CORRAL_OIDC_CLIENT_ID", what: "As which client the Hub is known there.", fallback: "" },
  {
    name: "CORRAL_OIDC_CLIENT_SECRET",
    what: "The client's secret. `CORRAL_OIDC_CLIENT_SECRET_FILE` keeps it out of the environment.",
    fallback: ""
  },
  { name: "CORRAL_OIDC_CLIENT_SECRET_FILE", what: "A file with the client's secret.", fallback: "" },
  {
    name: "CORRAL_OIDC_CLIENT_KEY_FILE",
    what: "A file with the client's private key in place of a secret: PEM, perhaps with its certificate, or a JWK. RSA of 2,048 bits or more, P-256 or P-384.",
    fallback: ""
  },
  {
    name: "CORRAL_OIDC_TOKEN_AUTH",
    what: "How the client shows who it is: `client_secret_basic`, `client_secret_post`, `private_key_jwt`, or `none` for a public client. With a key `private_key_jwt` where nothing is said.",
    fallback: oidcDefaults.tokenAuth
  },
  {
    name: "CORRAL_OIDC_SCOPES",
    what: "What is asked for, separated by spaces; `openid` must be among it.",
    fallback: oidcDefaults.scopes
  },
  {
    name: "CORRAL_OIDC_CLAIM_NAME",
    what: "Where a person's name stands in the claims: a name, or a path such as `profile.name`.",
    fallback: oidcDefaults.claims.name
  },
  {
    name: "CORRAL_OIDC_CLAIM_EMAIL",
    what: "Where their address stands. `email` itself counts only with `email_verified`; it is shown, and never tells who somebody is.",
    fallback: oidcDefaults.claims.email
  },
  {
    name: "CORRAL_OIDC_CLAIM_GROUPS",
    what: "Where their groups stand: a list of names, or an object with the names as keys.",
    fallback: oidcDefaults.claims.groups
  },
  {
    name: "CORRAL_OIDC_ALLOWED_GROUPS",
    what: "Groups, separated by commas, of which one is needed to come in.",
    fallback: ""
  },
  {
    name: "CORRAL_OIDC_ALLOWED_DOMAINS",
    what: "Domains, separated by commas, of which one must be that of the address.",
    fallback: ""
  },
  {
    name: "CORRAL_OIDC_CA_FILE",
    what: "Certificates as PEM that are trusted for the identity provider beside the usual ones.",
    fallback: ""
  },
  { name: "CORRAL_OIDC_PROMPT", what: "Sent along as `prompt`, such as `select_account`.", fallback: "" },
  { name: "CORRAL_OIDC_ACR_VALUES", what: "Sent along as `acr_values`.", fallback: "" }
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

/** The identity provider of an environment; undefined where it names none. */
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
    const useless = oidcSettings.find(({ name }) => valueOr(env[name], undefined) !== undefined)
    return useless === undefined
      ? undefined
      : yield* invalidSetting("CORRAL_OIDC_ISSUER", `an issuer, because ${useless.name} is set`)
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
    return yield* invalidSetting("CORRAL_OIDC_CLIENT_KEY_FILE", "no secret beside it")
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
  const place = "the name of a claim, or a path to it"
  return {
    issuer,
    clientId,
    clientKey,
    clientSecret,
    tokenAuth,
    scopes: yield* read("CORRAL_OIDC_SCOPES", Scopes, oidcDefaults.scopes, "scopes with openid among them"),
    claims: {
      name: yield* read("CORRAL_OIDC_CLAIM_NAME", ClaimPlace, claims.name, place),
      email: yield* read("CORRAL_OIDC_CLAIM_EMAIL", ClaimPlace, claims.email, place),
      groups: yield* read("CORRAL_OIDC_CLAIM_GROUPS", ClaimPlace, claims.groups, place)
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
