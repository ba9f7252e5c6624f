/**
 * `/client/auth/*` without a sign-in: the browser's way to the identity provider and back, the device flow, and the provider's word that a
 * session is over.
 */
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { PermissionDenied, Unauthorized } from "@corral/domain/errors/Failures"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import { randomBytes } from "node:crypto"
import { Audit } from "../audit/Audit.ts"
import { identityOf, isAdmitted } from "../signin/Claims.ts"
import { DeviceCodes } from "../signin/DeviceCodes.ts"
import { IdentityProvider } from "../signin/IdentityProvider.ts"
import { ATTEMPT_TTL, LoginAttempts } from "../signin/LoginAttempts.ts"
import { LogoutTokens } from "../signin/LogoutTokens.ts"
import { returnPathOf } from "../signin/ReturnPath.ts"
import { type IssuedSignIn, lifetimes, SignIns } from "../signin/SignIns.ts"
import { Users } from "../signin/Users.ts"
import { answered } from "./Answered.ts"
import { cookieToken } from "./Guard.ts"
import { PublicUrl } from "./PublicUrl.ts"
import { beginLogin, beginSession, loginCookie } from "./SessionCookies.ts"
import { SignInRate } from "./SignInRate.ts"

/** What is fresh, in seconds: time enough to come back from the provider. */
const FRESH = 300
const CALLBACK = "/client/auth/callback"

export const signIn = HttpApiBuilder.group(
  HubApi,
  "signIn",
  Effect.fnUntraced(function* (handlers) {
    const attempts = yield* LoginAttempts
    const audit = yield* Audit
    const deviceCodes = yield* DeviceCodes
    const logoutTokens = yield* LogoutTokens
    const provider = yield* IdentityProvider
    const publicUrl = yield* PublicUrl
    const rate = yield* SignInRate
    const signIns = yield* SignIns
    const users = yield* Users

    /** Who was refused is nobody that we know. */
    const recordRefusals = <A, E, R>(resource: string, self: Effect.Effect<A, E, R>) =>
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

    /** From what the browser brought back to a sign-in of whoever it proves. */
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
          message: "This sign-in was not begun here, or too long ago. Begin again."
        })
      const returned = new URL((yield* publicUrl) + target)
      const proven = yield* prove(returned, { ...attempt, state: key.state })
      if (!isAdmitted(proven.claims, config))
        return yield* new PermissionDenied({ message: "This account may not use this Hub." })
      const user = yield* users.admit(identityOf(proven.claims, config, proven.subject))
      return {
        ...(yield* signIns.issue(user.id, "web", {
          providerSession: proven.session,
          authenticatedAt: proven.authenticatedAt
        })),
        returnTo: attempt.returnTo
      }
    })

    return handlers.handleAll({
      login: Effect.fnUntraced(function* ({ query: { fresh, returnTo } }) {
        yield* rate.counted
        const { depart } = yield* provider.configured
        const request = yield* HttpServerRequest.HttpServerRequest
        const origin = yield* publicUrl
        // The browser comes back to our one name: what ties it to this attempt must be kept for that.
        if (request.headers["host"] !== new URL(origin).host) return redirectTo(origin + request.url)
        const maxAge = fresh === undefined ? undefined : FRESH
        const { nonce, state, url, verifier } = yield* depart(origin + CALLBACK, maxAge)
        // One for all attempts of a browser: each tab may finish its own.
        const browser = loginCookie(request.cookies) ?? randomBytes(32).toString("base64url")
        yield* attempts.begin(
          { state, browser },
          { nonce, verifier, maxAge, returnTo: returnPathOf(returnTo) }
        )
        yield* beginLogin(browser, ATTEMPT_TTL / 1_000)
        return redirectTo(url)
      }, answered),

      callback: Effect.fnUntraced(function* ({ query: { state } }) {
        const request = yield* HttpServerRequest.HttpServerRequest
        const admitted = admit(request.url, loginCookie(request.cookies), state)
        const { returnTo, token } = yield* rate.countingRefusals(recordRefusals("web", admitted))
        // Whoever was signed in here is so no more.
        const before = cookieToken(request.headers)
        const former = before === undefined ? undefined : yield* signIns.find(before)
        if (former !== undefined) yield* signIns.revoke(former.signInId)
        yield* beginSession(token, lifetimes.web.cap / 1_000)
        return redirectTo((yield* publicUrl) + returnTo)
      }, answered),

      deviceStart: Effect.fnUntraced(function* ({ payload }) {
        yield* rate.counted
        const started = yield* deviceCodes.start(payload)
        const verificationUri = `${yield* publicUrl}/device`
        return {
          ...started,
          verificationUri,
          verificationUriComplete: `${verificationUri}?code=${started.userCode}`
        }
      }, answered),

      deviceToken: Effect.fnUntraced(function* ({ payload: { deviceCode } }) {
        const found = yield* rate.countingRefusals(recordRefusals("device", deviceCodes.ask(deviceCode)))
        return "token" in found
          ? issuedToken(found)
          : { state: "pending" as const, intervalSeconds: found.waitSeconds }
      }, answered),

      backchannelLogout: Effect.fnUntraced(function* ({ payload }) {
        // Not counted by address: others there could keep the provider's word from us.
        yield* recordRefusals("logout_token", logoutTokens.take(payload.logout_token))
      }, answered)
    })
  })
)

const redirectTo = (location: string) => HttpApiSchema.withHeaders({ body: undefined, headers: { location } })

/** As the contract tells it. */
export const issuedToken = ({ expiresAt, kind, token }: IssuedSignIn) => ({
  token,
  tokenType: "Bearer" as const,
  kind,
  expiresAt: expiresAt.toISOString()
})
