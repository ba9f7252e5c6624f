/**
 * Client of the identity provider: OpenID Connect's code flow with PKCE, state and nonce. ID tokens are verified with the provider's keys.
 *
 * Guarantees: a refusal of the provider is `unauthorized`, a provider that does not respond is `overloaded`. Discovery happens at first
 * use, so a Hub starts without its provider.
 *
 * Does not: store tokens of the provider, or pass on its messages.
 */
import { NotFound, Overloaded, Unauthorized } from "@corral/domain/errors/Failures"
import { isThisMachine } from "@corral/domain/http/DirectConnection"
import { Context, Data, Effect, Layer, Redacted } from "effect"
import { createRemoteJWKSet, customFetch as joseFetch, type JWTVerifyGetKey } from "jose"
import { Agent as HttpAgent, request as overHttp } from "node:http"
import { Agent as HttpsAgent, request as overHttps } from "node:https"
import * as tls from "node:tls"
import * as client from "openid-client"
import { clientKeyAuth } from "../config/ClientKey.ts"
import type { OidcConfig } from "../config/HubConfig.ts"
import { type Claims, lacksRequiredClaim } from "./Claims.ts"
import type { LoginAttempt } from "./LoginAttempts.ts"

interface Init {
  readonly method?: string
  readonly headers?: Headers | Readonly<Record<string, string>>
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
}

/** Longest response that is read. */
const MAX_BYTES = 1_048_576

const bodyOf = (body: unknown): string | Uint8Array | undefined =>
  body instanceof URLSearchParams ? String(body) : (body as string | Uint8Array | undefined)

/** Of connections to this machine. Those of Node's own agents may pass a proxy. */
const direct = { http: new HttpAgent(), https: new HttpsAgent() }

/**
 * HTTP client for an identity provider on this machine, or with a private certificate authority, which is trusted for the provider only. Like `fetch`,
 * for small responses; does not follow redirects. `certificates` are PEM.
 *
 * Guarantees: a request to this machine passes no proxy.
 */
export const providerFetch =
  (certificates?: string) =>
  (address: string, { body, headers = {}, method = "GET", signal }: Init = {}): Promise<Response> =>
    new Promise((resolve, reject) => {
      const url = new URL(address)
      const isSecure = url.protocol === "https:"
      const options = {
        method,
        signal,
        headers: Object.fromEntries(new Headers(headers)),
        ...(isThisMachine(url) ? { agent: isSecure ? direct.https : direct.http } : {}),
        ...(isSecure && certificates !== undefined
          ? { ca: [...tls.getCACertificates("default"), certificates] }
          : {})
      }
      const call = (isSecure ? overHttps : overHttp)(url, options, (response) => {
        const chunks: Array<Buffer> = []
        let size = 0
        response.on("data", (chunk: Buffer) => {
          size += chunk.length
          if (size > MAX_BYTES) response.destroy(new TypeError("the response is too long"))
          else chunks.push(chunk)
        })
        response.once("error", reject)
        response.once("end", () => {
          const status = response.statusCode ?? 500
          const fields = Object.entries(response.headers).map(([name, value]) => [name, String(value)])
          const text = status === 204 || status === 304 ? null : Buffer.concat(chunks)
          resolve(
            new Response(text, { status, headers: Object.fromEntries(fields) as Record<string, string> })
          )
        })
      })
      call.once("error", (error) => reject(new TypeError("the request failed", { cause: error })))
      call.end(bodyOf(body))
    })

/** User whom the provider has authenticated. */
interface ProvenSubject {
  readonly subject: string
  readonly claims: Claims
  /** Id of the provider's session, if it reports one. */
  readonly session?: string | undefined
  /** Time when the user authenticated at the provider, if it reports one. */
  readonly authenticatedAt?: Date | undefined
}

interface LoginRedirect {
  readonly url: string
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

interface ConfiguredProvider {
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
