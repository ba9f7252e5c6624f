/** `/client/auth/*` with a sign-in: the user, token refresh, sign-out, decisions about device codes, and API keys of the user. */
import { PermissionDenied, Unauthorized } from "@corral/domain/errors/Failures"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import { idPosition, pageOf } from "@corral/service/http/Paged"
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Audit } from "../audit/Audit.ts"
import { ApiKeyStore } from "../signin/ApiKeyStore.ts"
import { DeviceCodes } from "../signin/DeviceCodes.ts"
import { SignInStore } from "../signin/SignInStore.ts"
import { Users } from "../signin/Users.ts"
import { withErrorObjects } from "./Handlers.ts"
import { credentialOf, recentSignIn } from "./Callers.ts"
import { sessionCookies } from "./SessionCookies.ts"
import { issuedToken, SignInRate } from "./SignIn.ts"

export const apiKeyEndpoints = HttpApiBuilder.group(
  HubApi,
  "apiKeys",
  Effect.fnUntraced(function* (handlers) {
    const audit = yield* Audit
    const keys = yield* ApiKeyStore
    const recent = yield* recentSignIn

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query: { cursor, limit } }) {
        const { userId } = yield* CurrentPrincipal
        return yield* pageOf(
          { filter: "api keys", principal: userId, cursor, limit },
          idPosition,
          (after, limit) => keys.list(userId, after, limit)
        )
      }, withErrorObjects),

      create: Effect.fnUntraced(function* ({ payload }) {
        const { userId } = yield* CurrentPrincipal
        return yield* audit.perform(
          { action: "api_key.create", resource: userId, projectId: null },
          Effect.andThen(recent.required, keys.create(userId, payload)),
          ({ id }) => ({ resource: id })
        )
      }, withErrorObjects),

      remove: Effect.fnUntraced(function* ({ params: { id } }) {
        const { userId } = yield* CurrentPrincipal
        yield* audit.perform(
          { action: "api_key.remove", resource: id, projectId: null },
          keys.remove(userId, id)
        )
      }, withErrorObjects)
    })
  })
)

export const authEndpoints = HttpApiBuilder.group(
  HubApi,
  "auth",
  Effect.fnUntraced(function* (handlers) {
    const audit = yield* Audit
    const cookies = yield* sessionCookies
    const deviceCodes = yield* DeviceCodes
    const rate = yield* SignInRate
    const recent = yield* recentSignIn
    const signIns = yield* SignInStore
    const users = yield* Users

    return handlers.handleAll({
      me: Effect.fnUntraced(function* () {
        const { expiresAt, kind, userId } = yield* CurrentPrincipal
        const user = yield* users.find(userId)
        // Deleting a user deletes their sign-ins.
        if (user === undefined) return yield* new Unauthorized()
        return { user, kind, expiresAt: expiresAt.toISOString() }
      }, withErrorObjects),

      refresh: Effect.fnUntraced(function* () {
        const { headers } = yield* HttpServerRequest.HttpServerRequest
        const { bearer: token } = credentialOf(headers)
        if (token === undefined)
          return yield* new PermissionDenied({
            message: "A browser session needs no refresh: each use extends it."
          })
        const fresh = yield* signIns.refresh(token)
        // Ended since the lookup.
        return fresh === undefined ? yield* new Unauthorized() : issuedToken(fresh)
      }, withErrorObjects),

      logout: Effect.fnUntraced(function* () {
        const { kind, signInId } = yield* CurrentPrincipal
        yield* signIns.revoke(signInId)
        if (kind === "web") yield* cookies.endSession
      }, withErrorObjects),

      sessions: Effect.fnUntraced(function* ({ query: { cursor, limit } }) {
        const { signInId, userId } = yield* CurrentPrincipal
        return yield* pageOf(
          { filter: "sign-ins", principal: userId, cursor, limit },
          idPosition,
          (before, limit) => signIns.list(userId, signInId, before, limit)
        )
      }, withErrorObjects),

      endSession: Effect.fnUntraced(function* ({ params: { id } }) {
        const { signInId, userId } = yield* CurrentPrincipal
        if (!(yield* signIns.revokeOwn(userId, id))) return yield* new PermissionDenied()
        if (id === signInId) yield* cookies.endSession
      }, withErrorObjects),

      endOtherSessions: Effect.fnUntraced(function* () {
        const { signInId, userId } = yield* CurrentPrincipal
        yield* signIns.revokeOthers(userId, signInId)
      }, withErrorObjects),

      deviceWaiting: Effect.fnUntraced(function* ({ query: { userCode } }) {
        return yield* rate.countingRefusals(deviceCodes.waiting(userCode))
      }, withErrorObjects),

      deviceApprove: Effect.fnUntraced(function* ({ payload: { decision, userCode } }) {
        const { signInId, userId } = yield* CurrentPrincipal
        const action = decision === "allow" ? ("sign_in.approve" as const) : ("sign_in.deny" as const)
        const answer = deviceCodes.answer(userId, userCode, decision)
        yield* rate.countingRefusals(
          audit.perform(
            { action, resource: signInId, projectId: null },
            // A denial issues no credential, so it needs no recent sign-in.
            decision === "allow" ? Effect.andThen(recent.required, answer) : answer
          )
        )
      }, withErrorObjects)
    })
  })
)
