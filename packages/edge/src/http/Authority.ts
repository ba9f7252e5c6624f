/**
 * Verification of a request's token by the endpoints, which a contract declares. The guard has compared the token before, together with the
 * rest of its checks.
 */
import { Unauthorized } from "@corral/domain/errors/Failures"
import { BearerAuthority, withErrorObject } from "@corral/domain/http/RequestContext"
import { Effect, Layer, Redacted } from "effect"
import { LocalToken } from "../LocalToken.ts"

export const authority = Layer.effect(
  BearerAuthority,
  Effect.map(LocalToken, (token) => ({
    bearer: (handler, { credential }) =>
      token.matches(Redacted.value(credential)) ? handler : withErrorObject(Effect.fail(new Unauthorized()))
  }))
)
