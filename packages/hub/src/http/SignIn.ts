/**
 * `/client/auth/*` without a sign-in: sign-in at the identity provider, the device flow, and logouts that the provider reports. Also
 * the rate limit of sign-ins and of wrong codes and tokens.
 *
 * The limit counts client addresses. It is much lower than the general limit and counts per Hub. Behind trusted proxies the client's
 * address counts; an IPv6 client counts by its /64 network.
 */
import type { Coded, ErrorCode } from "@corral/domain/errors/ErrorTable"
import { PermissionDenied, RateLimited, Unauthorized } from "@corral/domain/errors/Failures"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { RequestRateLimit } from "@corral/service/http/RequestRateLimit"
import { Clock, Context, Effect, Layer, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import { randomBytes } from "node:crypto"
import { Audit } from "../audit/Audit.ts"
import { HubConfig } from "../config/HubConfig.ts"
import { identityOf, isAdmitted } from "../signin/Claims.ts"
import { DeviceCodes } from "../signin/DeviceCodes.ts"
import { IdentityProvider } from "../signin/IdentityProvider.ts"
import { ATTEMPT_TTL, LoginAttempts, returnPathOf } from "../signin/LoginAttempts.ts"
import { LogoutTokens } from "../signin/LogoutTokens.ts"
import { type IssuedSignIn, lifetimes, SignInStore } from "../signin/SignInStore.ts"
import { Users } from "../signin/Users.ts"
import { ClientAddress, credentialOf } from "./Callers.ts"
import { type HubRequest, PublicUrl, withErrorObjects } from "./Handlers.ts"
import { loginCookie, sessionCookies } from "./SessionCookies.ts"

/** @effect-expect-leaking HttpServerRequest */
export class SignInRate extends Context.Service<
  SignInRate,
  {
    /** Counts this request. */
    readonly counted: Effect.Effect<void, RateLimited, HttpServerRequest.HttpServerRequest>
    /** Counts refusals; refuses requests after too many. */
    readonly countingRefusals: <A, E, R>(
      self: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | RateLimited, R | HttpServerRequest.HttpServerRequest>
  }
>()("corral/hub/SignInRate") {
  static readonly layer = Layer.effect(
    SignInRate,
    Effect.gen(function* () {
      const { signInsPerMinute: perMinute } = yield* HubConfig
      const clock = yield* Clock.Clock
      const rate = new RequestRateLimit(perMinute, () => clock.currentTimeMillisUnsafe(), MINUTE)
      const addresses = yield* ClientAddress
      const address = Effect.map(HttpServerRequest.HttpServerRequest, ({ headers, remoteAddress }) =>
        addresses.networkOf(headers, Option.getOrUndefined(remoteAddress))
      )
      const refuse = new RateLimited({ details: { retryAfterSeconds: Math.ceil(60 / perMinute) } })
      return SignInRate.of({
        counted: Effect.flatMap(address, (key) => (rate.take(key) ? Effect.void : Effect.fail(refuse))),
        countingRefusals: Effect.fnUntraced(function* (self) {
          const key = yield* address
          if (!rate.has(key)) return yield* refuse
          return yield* Effect.tapError(self, (error) =>
            Effect.sync(() => {
              if (isRefusal(error)) rate.take(key)
            })
          )
        })
      })
    })
  )
}

const MINUTE = 60_000

const isRefusal = (error: unknown): boolean => {
  const { code } = error as Partial<Coded<ErrorCode>>
  return code === "unauthorized" || code === "permission_denied"
}

/** Greatest age of a fresh sign-in, in seconds: enough time to return from the provider. */
const MAX_FRESH_SECONDS = 300
const CALLBACK = "/client/auth/callback"

/** Records refusals of a sign-in. The refused person is unknown, so the system is the actor. */
const refusalRecorder = Effect.map(
  Audit,
  (audit) =>
    <A, E, R>(resource: string, self: Effect.Effect<A, E, R>) =>
      Effect.tapError(self, (error) =>
        error instanceof Unauthorized || error instanceof PermissionDenied
          ? Effect.flatMap(CurrentRequestId, (requestId) =>
              audit.record({
                action: "sign_in.refuse",
                actor: "system",
                resource,
                projectId: null,
                outcome: "denied",
                code: error.code,
                requestId
              })
            )
          : Effect.void
      )
)

/** Sign-in of a browser: to the identity provider and back. */
const browserHandlers = Effect.gen(function* () {
  const attempts = yield* LoginAttempts
  const cookies = yield* sessionCookies
  const provider = yield* IdentityProvider
  const publicUrl = yield* PublicUrl
  const rate = yield* SignInRate
  const recordRefusals = yield* refusalRecorder
  const signIns = yield* SignInStore
  const users = yield* Users

  /** Signs in the user that the provider has proven to the returning browser. */
  const admit = Effect.fnUntraced(function* (
    target: string,
    browser: string | undefined,
    state: string | undefined
  ) {
    const { config, prove } = yield* provider.configured
    const key = state === undefined || browser === undefined ? undefined : { state, browser }
    const attempt = key && (yield* attempts.take(key))
    if (key === undefined || attempt === undefined)
      return yield* new Unauthorized({
        message: "This sign-in was started elsewhere or has expired. Start again."
      })
    const returned = new URL(publicUrl + target)
    const proven = yield* prove(returned, { ...attempt, state: key.state })
    if (!isAdmitted(proven.claims, config))
      return yield* new PermissionDenied({ message: "This account isn't allowed to use this Hub." })
    const user = yield* users.admit(identityOf(proven.claims, config, proven.subject))
    return {
      ...(yield* signIns.issue(user.id, "web", {
        providerSession: proven.session,
        authenticatedAt: proven.authenticatedAt
      })),
      returnTo: attempt.returnTo
    }
  })

  return {
    login: Effect.fnUntraced(function* ({ query: { fresh, returnTo } }: HubRequest<"signIn", "login">) {
      yield* rate.counted
      const { depart } = yield* provider.configured
      const request = yield* HttpServerRequest.HttpServerRequest
      // The browser returns to the public name, so the cookie of this attempt must belong to that name.
      if (request.headers["host"] !== new URL(publicUrl).host) return redirectTo(publicUrl + request.url)
      const maxAge = fresh === undefined ? undefined : MAX_FRESH_SECONDS
      const { nonce, state, url, verifier } = yield* depart(publicUrl + CALLBACK, maxAge)
      // All attempts of a browser share one key, so each tab can finish its own.
      const browser = loginCookie(request.cookies) ?? randomBytes(32).toString("base64url")
      yield* attempts.begin({ state, browser }, { nonce, verifier, maxAge, returnTo: returnPathOf(returnTo) })
      yield* cookies.beginLogin(browser, ATTEMPT_TTL / 1_000)
      return redirectTo(url)
    }, withErrorObjects),

    callback: Effect.fnUntraced(function* ({ query: { state } }: HubRequest<"signIn", "callback">) {
      const request = yield* HttpServerRequest.HttpServerRequest
      const admitted = admit(request.url, loginCookie(request.cookies), state)
      const { returnTo, token } = yield* rate.countingRefusals(recordRefusals("web", admitted))
      // The new sign-in replaces the previous one of this browser.
      const { cookie: before } = credentialOf(request.headers)
      const former = before === undefined ? undefined : yield* signIns.find(before)
      if (former !== undefined) yield* signIns.revoke(former.signInId)
      yield* cookies.beginSession(token, lifetimes.web.cap / 1_000)
      return redirectTo(publicUrl + returnTo)
    }, withErrorObjects)
  }
})

/** Sign-in of a program without a browser: the device flow. */
const deviceHandlers = Effect.gen(function* () {
  const deviceCodes = yield* DeviceCodes
  const publicUrl = yield* PublicUrl
  const rate = yield* SignInRate
  const recordRefusals = yield* refusalRecorder

  return {
    deviceStart: Effect.fnUntraced(function* ({ payload }: HubRequest<"signIn", "deviceStart">) {
      yield* rate.counted
      const started = yield* deviceCodes.start(payload)
      const verificationUri = `${publicUrl}/device`
      return {
        ...started,
        verificationUri,
        verificationUriComplete: `${verificationUri}?code=${started.userCode}`
      }
    }, withErrorObjects),

    deviceToken: Effect.fnUntraced(function* ({
      payload: { deviceCode }
    }: HubRequest<"signIn", "deviceToken">) {
      const result = yield* rate.countingRefusals(recordRefusals("device", deviceCodes.ask(deviceCode)))
      return "token" in result
        ? issuedToken(result)
        : { state: "pending" as const, intervalSeconds: result.waitSeconds }
    }, withErrorObjects)
  }
})

const logoutHandlers = Effect.gen(function* () {
  const logoutTokens = yield* LogoutTokens
  const recordRefusals = yield* refusalRecorder

  return {
    backchannelLogout: Effect.fnUntraced(function* ({ payload }: HubRequest<"signIn", "backchannelLogout">) {
      // Not rate limited by address: another client there could block the provider's logouts.
      yield* recordRefusals("logout_token", logoutTokens.take(payload.logout_token))
    }, withErrorObjects)
  }
})

export const signInEndpoints = HttpApiBuilder.group(
  HubApi,
  "signIn",
  Effect.fnUntraced(function* (handlers) {
    return handlers.handleAll({
      ...(yield* browserHandlers),
      ...(yield* deviceHandlers),
      ...(yield* logoutHandlers)
    })
  })
)

const redirectTo = (location: string) => HttpApiSchema.withHeaders({ body: undefined, headers: { location } })

/** Issued sign-in in the form of the contract. */
export const issuedToken = ({ expiresAt, kind, token }: IssuedSignIn) => ({
  token,
  tokenType: "Bearer" as const,
  kind,
  expiresAt: expiresAt.toISOString()
})
