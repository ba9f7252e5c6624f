/**
 * Who calls: the address of a caller, the credentials of a request, their check before the handlers run, the keys by which the rate limit counts callers,
 * and the log of those who are refused.
 *
 * Guarantees: a bearer token never counts as a recent sign-in, and neither does the cookie of an older one. Otherwise a copied token
 * could obtain a credential that neither the cap nor the reuse detection ends.
 */
import { toErrorObject } from "@corral/domain/errors/ErrorTable"
import { CHAT_ACCOUNT_HEADER } from "@corral/domain/chat/ChatAccount"
import { Conflict, PermissionDenied, Unauthorized } from "@corral/domain/errors/Failures"
import { withErrorObject } from "@corral/domain/http/RequestContext"
import { GatewayAuthority } from "@corral/domain/hub-api/Chat"
import { keyScopeOf } from "@corral/domain/hub-api/HubAuthorization"
import { CurrentPrincipal, SESSION_COOKIE, SessionAuthority } from "@corral/domain/hub-api/SessionAuthority"
import type { RequestId } from "@corral/domain/identity/Ids"
import { clientAddresses, type ClientAddressOf, clientNetwork } from "@corral/service/http/ClientAddress"
import { headerOf, type RequestHead } from "@corral/service/http/RequestGuard"
import { mint } from "@corral/service/Identifiers"
import { RequestRateLimit } from "@corral/service/http/RequestRateLimit"
import { routeNames } from "@corral/service/http/RequestWatch"
import { Clock, Context, Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { createHash } from "node:crypto"
import type { IncomingMessage } from "node:http"
import { HubConfig } from "../config/HubConfig.ts"
import { type Credential, type Endpoint, GatewayTokens, HubCredentials } from "../signin/HubCredentials.ts"
import { SignInStore } from "../signin/SignInStore.ts"
import { withErrorObjects } from "./Handlers.ts"

type Headers = RequestHead["headers"]

/** The session's token in the cookies; "" if the cookie came more than once. */
const cookieToken = (cookie = ""): string | undefined => {
  const tokens = cookie
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${SESSION_COOKIE}=`))
  return tokens.length > 1 ? "" : tokens[0]?.slice(SESSION_COOKIE.length + 1)
}

/** The bearer token; "" if the header has another form. */
const bearerToken = (authorization: string | undefined): string | undefined =>
  authorization === undefined ? undefined : (/^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? "")

export const credentialOf = (headers: Headers): Credential => ({
  bearer: bearerToken(headerOf({ headers }, "authorization")),
  cookie: cookieToken(headerOf({ headers }, "cookie")),
  chatAccount: headerOf({ headers }, CHAT_ACCOUNT_HEADER)
})

/** In milliseconds. */
const MAX_AGE = 900_000

export const recentSignIn = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const signIns = yield* SignInStore
  const required = Effect.gen(function* () {
    const { kind, signInId } = yield* CurrentPrincipal
    const { headers } = yield* HttpServerRequest.HttpServerRequest
    if (kind !== "web" || credentialOf(headers).cookie === undefined)
      return yield* new PermissionDenied({ message: "Do this in your browser, where you are signed in." })
    const provenAt = yield* signIns.authenticatedAt(signInId)
    if (provenAt === undefined || clock.currentTimeMillisUnsafe() - provenAt.getTime() > MAX_AGE)
      return yield* new Conflict({
        message: "Sign in again to continue: your last sign-in is more than 15 minutes old.",
        details: { reason: "sign_in_old" }
      })
  })
  return { required }
})

// Address that a request comes from, behind the proxies that the settings trust. Refusals are logged with it. Limits count by its network,
// which is the address itself for IPv4 and the /64 for IPv6.

export class ClientAddress extends Context.Service<
  ClientAddress,
  { readonly of: ClientAddressOf; readonly networkOf: ClientAddressOf }
>()("corral/hub/ClientAddress") {
  static readonly layer = Layer.effect(
    ClientAddress,
    Effect.map(HubConfig, ({ trustedProxies }) => {
      const of = clientAddresses(trustedProxies)
      return ClientAddress.of({ of, networkOf: (headers, peer) => clientNetwork(of(headers, peer)) })
    })
  )
}

/** Valid tokens in memory. Beyond this, the least recently used one is dropped and counts for its address once. */
const MAX_TOKENS = 10_000

const hashOf = (text: string): string => createHash("sha256").update(text).digest("base64url")

/**
 * Keys by which the rate limit counts callers: a token that was valid recently, otherwise the address. Invented tokens count for their address. A
 * Gateway counts separately for each chat account. Also the address of a caller.
 */
export class Callers extends Context.Service<
  Callers,
  {
    readonly keyOf: (request: IncomingMessage) => string
    /** Reports a valid credential. */
    readonly reportValid: (credential: Credential) => void
  }
>()("corral/hub/Callers") {
  static readonly layer = Layer.effect(
    Callers,
    Effect.gen(function* () {
      const addresses = yield* ClientAddress
      const gateways = yield* GatewayTokens
      const valid = new Set<string>()
      const nameOf = ({ bearer, chatAccount = "", cookie }: Credential): string | undefined => {
        const token = bearer ?? cookie
        if (token === undefined) return undefined
        // From other callers, the account is an ignored header.
        return hashOf(gateways.isGatewayToken(token) ? `${token} ${chatAccount}` : token)
      }
      const remember = (name: string): void => {
        // Moves the name to the end of the order of use.
        valid.delete(name)
        valid.add(name)
        if (valid.size <= MAX_TOKENS) return
        const [oldest] = valid
        if (oldest !== undefined) valid.delete(oldest)
      }
      return Callers.of({
        keyOf: ({ headers, socket }) => {
          const name = nameOf(credentialOf(headers))
          if (name === undefined || !valid.has(name))
            return addresses.networkOf(headers, socket.remoteAddress)
          remember(name)
          return name
        },
        reportValid: (credential) => {
          const name = nameOf(credential)
          if (name !== undefined) remember(name)
        }
      })
    })
  )
}

/**
 * Authentication of endpoints, before their handlers run: the bearer token or the cookie, looked up for each request, or a Gateway's token.
 */
export const authentication = Layer.effect(
  SessionAuthority,
  Effect.gen(function* () {
    const callers = yield* Callers
    const credentials = yield* HubCredentials

    const principal = (endpoint: Endpoint) =>
      HttpServerRequest.HttpServerRequest.pipe(
        Effect.flatMap(({ headers }) => {
          const credential = credentialOf(headers)
          return Effect.tap(credentials.verify(credential, endpoint), () =>
            Effect.sync(() => callers.reportValid(credential))
          )
        }),
        withErrorObjects
      )

    // Never sent, and therefore the same for all requests.
    const next = Effect.fail(toErrorObject(new Unauthorized(), mint<RequestId>("req", 0)))

    return SessionAuthority.of({
      // The refusal of the last scheme is the response, so that scheme reads both credentials.
      bearer: () => next,
      cookie: (handler, { endpoint }) =>
        Effect.flatMap(
          principal({ method: endpoint.method, path: endpoint.path, keyScope: keyScopeOf(endpoint) }),
          (current) => Effect.provideService(handler, CurrentPrincipal, current)
        )
    })
  })
)

export const gatewayAuthentication = Layer.effect(
  GatewayAuthority,
  Effect.gen(function* () {
    const callers = yield* Callers
    const tokens = yield* GatewayTokens

    const admitted = HttpServerRequest.HttpServerRequest.pipe(
      Effect.flatMap(({ headers }) => {
        const credential = credentialOf(headers)
        return credential.bearer !== undefined && tokens.isGatewayToken(credential.bearer)
          ? Effect.sync(() => callers.reportValid(credential))
          : Effect.fail(new Unauthorized())
      }),
      withErrorObject
    )

    return GatewayAuthority.of({ gateway: (handler) => Effect.andThen(admitted, handler) })
  })
)

const LINES_PER_MINUTE = 10
const MINUTE = 60_000

/**
 * Log of requests refused with 401 or 429, with the client's address: for operators, and for programs that block addresses. Returns a callback for
 * each answered request. It writes a log line for the two logged statuses.
 *
 * A client that keeps asking gets a few lines a minute; the next line says how many were left out. The path is logged as its template, because paths
 * can hold codes.
 */
export const refusalLog = Effect.fnUntraced(function* (paths: Iterable<string>) {
  const addresses = yield* ClientAddress
  const clock = yield* Clock.Clock
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const lines = new RequestRateLimit(LINES_PER_MINUTE, () => clock.currentTimeMillisUnsafe(), MINUTE)
  const routeOf = routeNames(paths)
  /** Refusals since the last line. */
  let omitted = 0
  return ({ headers, method, socket, url = "" }: IncomingMessage, status: number): void => {
    if (status !== 401 && status !== 429) return
    const address = addresses.of(headers, socket.remoteAddress)
    if (!lines.take(addresses.networkOf(headers, socket.remoteAddress))) return void omitted++
    const more = omitted === 0 ? {} : { omitted }
    omitted = 0
    const requestId = headers["x-request-id"]
    run(
      Effect.logWarning("refused request", {
        status,
        address,
        method,
        route: routeOf(url),
        requestId,
        ...more
      })
    )
  }
})

export type LogRefusal = Effect.Success<ReturnType<typeof refusalLog>>
