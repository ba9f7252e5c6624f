/** `/client/auth/keys`: API keys of the user. */
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import { idPosition, pageOf } from "@corral/service/http/Paged"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Audit } from "../audit/Audit.ts"
import { ApiKeyStore } from "../signin/ApiKeyStore.ts"
import { withErrorObjects } from "./ErrorObjects.ts"
import { recentSignIn } from "./RecentSignIn.ts"

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
