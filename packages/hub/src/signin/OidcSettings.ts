/** Settings of the identity provider. */
import { capped } from "@corral/domain/text/CappedPattern"
import { isLoopback } from "@corral/service/Addresses"
import {
  fileSetting,
  invalidSetting,
  optionalSetting,
  secretSetting,
  setting,
  settingGroup,
  switchSetting,
  oneOf,
  parsedBy,
  Secret,
  TextList,
  textMatching
} from "@corral/service/settings/Setting"
import { Config, Effect, Schema } from "effect"
import { clientKeyFrom } from "../config/ClientKey.ts"
import { type OidcConfig, oidcDefaults, tokenAuths } from "../config/HubConfig.ts"

const Issuer = textMatching("the issuer's address with https, or with http on loopback", (text) => {
  const url = URL.parse(text)
  return (
    url !== null &&
    (url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname))) &&
    url.username === "" &&
    url.search === "" &&
    url.hash === ""
  )
})

const Scopes = Schema.String.check(
  Schema.isPattern(capped(4_096, /^(?=.*(^| )openid( |$))[!#-[\]-~]+( [!#-[\]-~]+)*$/), {
    expected: "scopes with openid among them"
  })
)
const Printable = textMatching(
  "printable characters",
  (text) => /^[ -~]{1,1000}$/.test(text) && text.trim() !== ""
)
const Claim = textMatching("the name of a claim, or a path to it", (text) =>
  /^[^\p{Cc}\s]{1,200}$/u.test(text)
)
const PrivateKey = parsedBy(
  "a file with a private key, as PEM or a JWK: RSA of 2048 bits or more, P-256 or P-384",
  clientKeyFrom
)
const Certificates = textMatching("a file with certificates as PEM", (text) =>
  text.includes("-----BEGIN CERTIFICATE-----")
)

const { claims, scopes, tokenAuth } = oidcDefaults

export const oidcSettings = {
  issuer: switchSetting({
    name: "CORRAL_OIDC_ISSUER",
    doc: "Issuer of the identity provider, exactly as in its metadata. Without it, sign-in is not possible. Plain http is accepted on loopback only.",
    schema: Issuer
  }),
  clientId: optionalSetting({
    name: "CORRAL_OIDC_CLIENT_ID",
    doc: "Client id of the Hub at the identity provider.",
    schema: Printable
  }),
  clientSecret: secretSetting("CORRAL_OIDC_CLIENT_SECRET", "The client's secret.", Secret),
  clientKey: fileSetting({
    name: "CORRAL_OIDC_CLIENT_KEY_FILE",
    doc: "File that contains the client's private key, used instead of a secret: PEM, optionally with the certificate, or a JWK. RSA of 2,048 bits or more, P-256 or P-384.",
    schema: PrivateKey
  }),
  tokenAuth: optionalSetting({
    name: "CORRAL_OIDC_TOKEN_AUTH",
    doc: "Client authentication: `client_secret_basic`, `client_secret_post`, `private_key_jwt`, or `none` for a public client. With a key, `private_key_jwt` is the default.",
    schema: oneOf(tokenAuths),
    shownDefault: tokenAuth
  }),
  scopes: setting({
    name: "CORRAL_OIDC_SCOPES",
    doc: "Requested scopes, separated by spaces. Must include `openid`.",
    schema: Scopes,
    default: scopes
  }),
  claims: {
    name: setting({
      name: "CORRAL_OIDC_CLAIM_NAME",
      doc: "Claim with the user's name: a name, or a path such as `profile.name`.",
      schema: Claim,
      default: claims.name
    }),
    email: setting({
      name: "CORRAL_OIDC_CLAIM_EMAIL",
      doc: "Claim with the email address. `email` counts only with `email_verified`. The address is shown, but does not identify a user.",
      schema: Claim,
      default: claims.email
    }),
    groups: setting({
      name: "CORRAL_OIDC_CLAIM_GROUPS",
      doc: "Claim with the groups: a list of names, or an object with the names as keys.",
      schema: Claim,
      default: claims.groups
    })
  },
  allowedGroups: setting({
    name: "CORRAL_OIDC_ALLOWED_GROUPS",
    doc: "Groups, separated by commas. Users need one of them to sign in.",
    schema: TextList,
    default: [],
    shownDefault: ""
  }),
  allowedDomains: setting({
    name: "CORRAL_OIDC_ALLOWED_DOMAINS",
    doc: "Domains, separated by commas. The email address must be in one of them.",
    schema: TextList,
    default: [],
    shownDefault: ""
  }),
  certificates: fileSetting({
    name: "CORRAL_OIDC_CA_FILE",
    doc: "PEM certificates that are trusted for the identity provider in addition to the system's.",
    schema: Certificates
  }),
  prompt: optionalSetting({
    name: "CORRAL_OIDC_PROMPT",
    doc: "Value of `prompt`, such as `select_account`.",
    schema: Printable
  }),
  acrValues: optionalSetting({
    name: "CORRAL_OIDC_ACR_VALUES",
    doc: "Value of `acr_values`.",
    schema: Printable
  })
}

const settings = Config.all({ ...oidcSettings, claims: Config.all(oidcSettings.claims) })

/** Rejects settings that contradict each other. */
const checkOidc = Effect.fnUntraced(function* ({
  allowedDomains,
  clientId,
  issuer,
  ...rest
}: Config.Success<typeof settings>): Effect.fn.Return<OidcConfig, Config.ConfigError> {
  const { clientKey, clientSecret } = rest
  const tokenAuth = rest.tokenAuth ?? (clientKey === undefined ? oidcDefaults.tokenAuth : "private_key_jwt")
  if (clientId === undefined)
    return yield* invalidSetting("CORRAL_OIDC_CLIENT_ID", "a client id, because CORRAL_OIDC_ISSUER is set")
  if (clientKey !== undefined && clientSecret !== undefined)
    return yield* invalidSetting(
      "CORRAL_OIDC_CLIENT_KEY_FILE",
      "no file while CORRAL_OIDC_CLIENT_SECRET is set"
    )
  if (tokenAuth === "private_key_jwt" && clientKey === undefined)
    return yield* invalidSetting(
      "CORRAL_OIDC_CLIENT_KEY_FILE",
      "a key, because CORRAL_OIDC_TOKEN_AUTH is private_key_jwt"
    )
  if (tokenAuth !== "private_key_jwt" && clientKey !== undefined)
    return yield* invalidSetting(
      "CORRAL_OIDC_TOKEN_AUTH",
      "private_key_jwt, because CORRAL_OIDC_CLIENT_KEY_FILE is set"
    )
  if (tokenAuth !== "none" && clientKey === undefined && clientSecret === undefined)
    return yield* invalidSetting(
      "CORRAL_OIDC_CLIENT_SECRET",
      "a secret, CORRAL_OIDC_CLIENT_KEY_FILE or CORRAL_OIDC_TOKEN_AUTH=none"
    )
  return {
    ...rest,
    issuer,
    clientId,
    tokenAuth,
    allowedDomains: allowedDomains.map((domain) => domain.toLowerCase())
  }
})

/** The identity provider; `undefined` without an issuer. */
export const oidcConfig: Config.Config<OidcConfig | undefined> = settingGroup(
  oidcSettings,
  Config.mapEffect(settings, checkOidc),
  { name: "CORRAL_OIDC_ISSUER", expected: "an issuer" }
)
