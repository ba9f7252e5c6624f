/**
 * The token of a request, verified by the routes themselves: they keep their authentication in any server that mounts them. The guard of
 * the Edge's own server has compared it before, together with what else it asks of a request.
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
