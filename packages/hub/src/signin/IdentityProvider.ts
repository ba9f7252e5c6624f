/**
 * The identity provider as this Hub speaks to it: where a browser is sent, and what is made of it coming back. OpenID Connect's code flow
 * with PKCE, state and nonce; ID tokens are checked with the provider's keys.
 *
 * It keeps none of the provider's tokens and none of its words: what it refuses is `unauthorized`, and a provider that does not answer is
 * `overloaded`. Discovery happens at first use, so that a Hub starts without its provider.
 */
import { NotFound, Overloaded, Unauthorized } from "@corral/domain/errors/Failures"
import { Context, Data, Effect, Layer, Redacted } from "effect"
import { customFetch as joseFetch, createRemoteJWKSet, type JWTVerifyGetKey } from "jose"
import * as client from "openid-client"
import { type Claims, isShort } from "./Claims.ts"
import { clientKeyAuth } from "../config/ClientKey.ts"
import type { LoginAttempt } from "./LoginAttempts.ts"
import type { OidcConfig } from "../config/OidcConfig.ts"
import { providerFetch } from "./ProviderFetch.ts"

/** Who came back. */
export interface ProvenSubject {
  readonly subject: string
  readonly claims: Claims
  /** The provider's session, where it names one. */
  readonly session?: string | undefined
  /** When the provider asked for the person, where it says so. */
  readonly authenticatedAt?: Date | undefined
}

export interface Departure {
  readonly url: string
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

export interface Configured {
  readonly config: OidcConfig
  /** Where to send a browser; it comes back to `redirectUri`. With `maxAge` whoever signed in there longer ago than that, in seconds, must again. */
  readonly depart: (redirectUri: string, maxAge?: number) => Effect.Effect<Departure, Overloaded>
  /** What the provider proved; `returned` is the address that the browser came back to, with its query. */
  readonly prove: (
    returned: URL,
    attempt: LoginAttempt & { readonly state: string }
  ) => Effect.Effect<ProvenSubject, Unauthorized | Overloaded>
  /** Whether the provider answers now. Asks it each time, and does not log. */
  readonly isReachable: Effect.Effect<boolean>
  /** The keys that the provider signs with. */
  readonly keys: Effect.Effect<JWTVerifyGetKey, Overloaded>
}

export class IdentityProvider extends Context.Service<
  IdentityProvider,
  {
    /** The provider, or why there is none. */
    readonly configured: Effect.Effect<Configured, NotFound>
  }
>()("corral/hub/IdentityProvider") {
  static readonly layer = (config: OidcConfig | undefined) =>
    Layer.sync(IdentityProvider, () => {
      const made = config && configured(config)
      return { configured: made === undefined ? Effect.fail(missing()) : Effect.succeed(made) }
    })
}

const missing = () =>
  new NotFound({
    message:
      "This Hub has no identity provider: set CORRAL_OIDC_ISSUER and CORRAL_OIDC_CLIENT_ID, or CORRAL_HUB_DEV_SIGN_IN=1 for development."
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

const configured = (config: OidcConfig): Configured => {
  const ownFetch = config.certificates === undefined ? undefined : providerFetch(config.certificates)
  const metadata = { [client.clockTolerance]: CLOCK_TOLERANCE }
  const options: client.DiscoveryRequestOptions = {
    timeout: TIMEOUT,
    // The settings let plain http be on loopback alone.
    execute: [
      client.enableNonRepudiationChecks,
      ...(config.issuer.startsWith("http:") ? [client.allowInsecureRequests] : [])
    ],
    ...(ownFetch === undefined ? {} : { [client.customFetch]: ownFetch })
  }

  const discover = async (): Promise<client.Configuration> => {
    const found = await client.discovery(
      new URL(config.issuer),
      config.clientId,
      metadata,
      authOf(config),
      options
    )
    const { authorization_endpoint, jwks_uri, token_endpoint } = found.serverMetadata()
    for (const needed of [authorization_endpoint, jwks_uri, token_endpoint])
      if (needed === undefined || !URL.canParse(needed)) throw new TypeError("an endpoint is missing")
    return found
  }

  let known: client.Configuration | undefined
  const discovered = Effect.suspend(() =>
    known !== undefined
      ? Effect.succeed(known)
      : asked(discover).pipe(
          Effect.tap((found) =>
            Effect.sync(() => {
              known = found
            })
          ),
          Effect.mapError(() => unanswering())
        )
  )

  let keySet: JWTVerifyGetKey | undefined
  const keys = Effect.gen(function* () {
    const { jwks_uri } = (yield* discovered).serverMetadata()
    if (jwks_uri === undefined) return yield* unanswering()
    return (keySet ??= createRemoteJWKSet(
      new URL(jwks_uri),
      ownFetch === undefined ? {} : { [joseFetch]: ownFetch }
    ))
  })

  return {
    config,
    keys,
    isReachable: Effect.isSuccess(Effect.tryPromise(discover)),

    depart: Effect.fnUntraced(function* (redirectUri, maxAge) {
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

    prove: Effect.fnUntraced(function* (returned, { maxAge, nonce, state, verifier }) {
      const provider = yield* discovered
      const tokens = yield* asked(() =>
        client.authorizationCodeGrant(provider, returned, {
          pkceCodeVerifier: verifier,
          expectedNonce: nonce,
          expectedState: state,
          idTokenExpected: true,
          ...(maxAge === undefined ? {} : { maxAge })
        })
      )
      const claims = tokens.claims()
      // `idTokenExpected` has seen to it.
      if (claims === undefined) return yield* new Unauthorized({ message: REFUSED })
      const { auth_time: seconds, sid, sub: subject } = claims
      const more =
        isShort(claims, config) && provider.serverMetadata().userinfo_endpoint !== undefined
          ? yield* asked(() => client.fetchUserInfo(provider, tokens.access_token, subject))
          : {}
      return {
        subject,
        // What was signed for us counts more.
        claims: { ...more, ...claims },
        session: typeof sid === "string" ? sid : undefined,
        authenticatedAt: seconds === undefined ? undefined : new Date(seconds * 1_000)
      }
    })
  }
}

const REFUSED = "The sign-in at the identity provider failed. Begin again."

const unanswering = () => new Overloaded({ message: "The identity provider does not answer as it should." })

/** What a call to the provider came to, by its code alone: what stands beside that may hold codes and tokens. */
class ProviderRefused extends Data.TaggedError("ProviderRefused")<{
  readonly what: string
  /** The network's failure, or the provider's own. */
  readonly outage: boolean
}> {}

const asked = <A>(call: () => Promise<A>): Effect.Effect<A, Unauthorized | Overloaded> =>
  Effect.tryPromise({ try: call, catch: refusalOf }).pipe(
    Effect.tapError(({ what }) => Effect.logWarning(`the identity provider: ${what}`)),
    Effect.mapError(({ outage }) => (outage ? unanswering() : new Unauthorized({ message: REFUSED })))
  )

const refusalOf = (error: unknown): ProviderRefused => {
  const { code, error: told } = error as { readonly code?: unknown; readonly error?: unknown }
  const what = [told, code].find((text) => typeof text === "string" && /^[A-Za-z_]{1,60}$/.test(text))
  return new ProviderRefused({
    what: typeof what === "string" ? what : "no answer",
    outage: error instanceof TypeError || (error instanceof client.ClientError && isOutage(error))
  })
}

const isOutage = ({ cause, code }: client.ClientError): boolean =>
  code === "OAUTH_TIMEOUT" || code === "OAUTH_ABORT" || (cause instanceof Response && cause.status >= 500)
