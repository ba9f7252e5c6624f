/**
 * Client of the identity provider: OpenID Connect's code flow with PKCE, state and nonce. ID tokens are verified with the provider's keys.
 *
 * Guarantees: a refusal of the provider is `unauthorized`, a provider that does not respond is `overloaded`. Discovery happens at first
 * use, so a Hub starts without its provider.
 *
 * Does not: store tokens of the provider, or pass on its messages.
 */
import { NotFound, Overloaded, Unauthorized } from "@corral/domain/errors/Failures"
import { Context, Data, Effect, Layer, Redacted } from "effect"
import { isThisMachine } from "@corral/domain/http/DirectConnection"
import { customFetch as joseFetch, createRemoteJWKSet, type JWTVerifyGetKey } from "jose"
import * as client from "openid-client"
import { type Claims, lacksRequiredClaim } from "./Claims.ts"
import { clientKeyAuth } from "../config/ClientKey.ts"
import type { LoginAttempt } from "./LoginAttempts.ts"
import type { OidcConfig } from "../config/HubConfig.ts"
import { providerFetch } from "./ProviderFetch.ts"

/** User whom the provider has authenticated. */
export interface ProvenSubject {
  readonly subject: string
  readonly claims: Claims
  /** Id of the provider's session, if it reports one. */
  readonly session?: string | undefined
  /** Time when the user authenticated at the provider, if it reports one. */
  readonly authenticatedAt?: Date | undefined
}

export interface LoginRedirect {
  readonly url: string
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

export interface ConfiguredProvider {
  readonly config: OidcConfig
  /** Address for the browser, which returns to `redirectUri`. With `maxAge`, in seconds, users with an older authentication repeat it. */
  readonly depart: (redirectUri: string, maxAge?: number) => Effect.Effect<LoginRedirect, Overloaded>
  /** Verifies the response of the provider; `returned` is the address that the browser returned to, with its query. */
  readonly prove: (
    returned: URL,
    attempt: LoginAttempt & { readonly state: string }
  ) => Effect.Effect<ProvenSubject, Unauthorized | Overloaded>
  /** Whether the provider responds now. Each use sends a request and logs nothing. */
  readonly isReachable: Effect.Effect<boolean>
  /** Signature keys of the provider. */
  readonly keys: Effect.Effect<JWTVerifyGetKey, Overloaded>
}

export class IdentityProvider extends Context.Service<
  IdentityProvider,
  {
    /** The configured provider. */
    readonly configured: Effect.Effect<ConfiguredProvider, NotFound>
  }
>()("corral/hub/IdentityProvider") {
  static readonly layer = (config: OidcConfig | undefined) =>
    Layer.sync(IdentityProvider, () => {
      const provider = config && configured(config)
      return { configured: provider === undefined ? Effect.fail(missing()) : Effect.succeed(provider) }
    })
}

const missing = () =>
  new NotFound({
    message:
      "This Hub has no identity provider. Set CORRAL_OIDC_ISSUER and CORRAL_OIDC_CLIENT_ID, or CORRAL_HUB_DEV_SIGN_IN=1 for development."
  })

/** Seconds. */
const TIMEOUT = 10
const CLOCK_TOLERANCE = 30

const authOf = ({ clientKey, clientSecret, tokenAuth }: OidcConfig): client.ClientAuth => {
  if (clientKey !== undefined) return clientKeyAuth(clientKey)
  const secret = clientSecret && Redacted.value(clientSecret)
  if (secret === undefined || tokenAuth === "none") return client.None()
  return tokenAuth === "client_secret_post"
    ? client.ClientSecretPost(secret)
    : client.ClientSecretBasic(secret)
}

/** Discovery document and keys of the provider, loaded at first use. */
const metadataOf = (config: OidcConfig) => {
  const ownFetch =
    config.certificates === undefined && !isThisMachine(config.issuer)
      ? undefined
      : providerFetch(config.certificates)
  const options: client.DiscoveryRequestOptions = {
    timeout: TIMEOUT,
    // The settings allow plain http on loopback only.
    execute: [
      client.enableNonRepudiationChecks,
      ...(config.issuer.startsWith("http:") ? [client.allowInsecureRequests] : [])
    ],
    ...(ownFetch === undefined ? {} : { [client.customFetch]: ownFetch })
  }

  const discover = async (): Promise<client.Configuration> => {
    const provider = await client.discovery(
      new URL(config.issuer),
      config.clientId,
      { [client.clockTolerance]: CLOCK_TOLERANCE },
      authOf(config),
      options
    )
    const { authorization_endpoint, jwks_uri, token_endpoint } = provider.serverMetadata()
    for (const endpoint of [authorization_endpoint, jwks_uri, token_endpoint])
      if (endpoint === undefined || !URL.canParse(endpoint)) throw new TypeError("an endpoint is missing")
    return provider
  }

  let cached: client.Configuration | undefined
  const discovered = Effect.suspend(() =>
    cached !== undefined
      ? Effect.succeed(cached)
      : callProvider(discover).pipe(
          Effect.tap((provider) =>
            Effect.sync(() => {
              cached = provider
            })
          ),
          Effect.mapError(() => unavailable())
        )
  )

  let keySet: JWTVerifyGetKey | undefined
  const keys = Effect.gen(function* () {
    const { jwks_uri } = (yield* discovered).serverMetadata()
    if (jwks_uri === undefined) return yield* unavailable()
    return (keySet ??= createRemoteJWKSet(
      new URL(jwks_uri),
      ownFetch === undefined ? {} : { [joseFetch]: ownFetch }
    ))
  })

  return { discover, discovered, keys }
}

const configured = (config: OidcConfig): ConfiguredProvider => {
  const { discover, discovered, keys } = metadataOf(config)

  return {
    config,
    keys,
    isReachable: Effect.isSuccess(Effect.tryPromise(discover)),

    depart: Effect.fn("IdentityProvider.depart")(function* (redirectUri, maxAge) {
      const provider = yield* discovered
      const [state, nonce, verifier] = [
        client.randomState(),
        client.randomNonce(),
        client.randomPKCECodeVerifier()
      ]
      const challenge = yield* Effect.promise(() => client.calculatePKCECodeChallenge(verifier))
      const { acrValues, scopes } = config
      const prompt = maxAge === undefined ? config.prompt : "login"
      const url = client.buildAuthorizationUrl(provider, {
        redirect_uri: redirectUri,
        scope: scopes,
        state,
        nonce,
        code_challenge: challenge,
        code_challenge_method: "S256",
        ...(maxAge === undefined ? {} : { max_age: String(maxAge) }),
        ...(prompt === undefined ? {} : { prompt }),
        ...(acrValues === undefined ? {} : { acr_values: acrValues })
      })
      return { url: url.href, state, nonce, verifier }
    }),

    prove: Effect.fn("IdentityProvider.prove")(function* (returned, { maxAge, nonce, state, verifier }) {
      const provider = yield* discovered
      const tokens = yield* callProvider(() =>
        client.authorizationCodeGrant(provider, returned, {
          pkceCodeVerifier: verifier,
          expectedNonce: nonce,
          expectedState: state,
          idTokenExpected: true,
          ...(maxAge === undefined ? {} : { maxAge })
        })
      )
      const claims = tokens.claims()
      // `idTokenExpected` ensures claims.
      if (claims === undefined) return yield* new Unauthorized({ message: REFUSED })
      const { auth_time: seconds, sid, sub: subject } = claims
      const more =
        lacksRequiredClaim(claims, config) && provider.serverMetadata().userinfo_endpoint !== undefined
          ? yield* callProvider(() => client.fetchUserInfo(provider, tokens.access_token, subject))
          : {}
      return {
        subject,
        // Signed claims take precedence.
        claims: { ...more, ...claims },
        session: typeof sid === "string" ? sid : undefined,
        authenticatedAt: seconds === undefined ? undefined : new Date(seconds * 1_000)
      }
    })
  }
}

const REFUSED = "The sign-in at the identity provider failed. Start again."

const unavailable = () => new Overloaded({ message: "Can't reach the identity provider. Try again later." })

/** Failure of a call to the provider, by its code only: other fields may contain codes and tokens. */
class ProviderRefused extends Data.TaggedError("ProviderRefused")<{
  readonly reason: string
  /** Failure of the network or the provider. */
  readonly isOutage: boolean
}> {}

const callProvider = <A>(call: () => Promise<A>): Effect.Effect<A, Unauthorized | Overloaded> =>
  Effect.tryPromise({ try: call, catch: refusalOf }).pipe(
    Effect.tapError(({ reason }) => Effect.logWarning("failed to call the identity provider", { reason })),
    Effect.mapError(({ isOutage }) => (isOutage ? unavailable() : new Unauthorized({ message: REFUSED })))
  )

const refusalOf = (error: unknown): ProviderRefused => {
  const { code, error: oauthError } = error as { readonly code?: unknown; readonly error?: unknown }
  const reason = [oauthError, code].find((text) => typeof text === "string" && /^[A-Za-z_]{1,60}$/.test(text))
  return new ProviderRefused({
    reason: typeof reason === "string" ? reason : "no response",
    isOutage: error instanceof TypeError || (error instanceof client.ClientError && isProviderOutage(error))
  })
}

const isProviderOutage = ({ cause, code }: client.ClientError): boolean =>
  code === "OAUTH_TIMEOUT" || code === "OAUTH_ABORT" || (cause instanceof Response && cause.status >= 500)
