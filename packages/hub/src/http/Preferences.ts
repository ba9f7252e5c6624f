/** `/client/preferences`: the preferences of the caller. */
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { UserPreferences } from "../preference/UserPreferences.ts"
import { withErrorObjects } from "./Handlers.ts"

export const preferenceEndpoints = HttpApiBuilder.group(
  HubApi,
  "preferences",
  Effect.fnUntraced(function* (handlers) {
    const preferences = yield* UserPreferences

    return handlers.handleAll({
      get: Effect.fnUntraced(function* () {
        const { userId } = yield* CurrentPrincipal
        return yield* preferences.get(userId)
      }, withErrorObjects),

      update: Effect.fnUntraced(function* ({ payload }) {
        const { userId } = yield* CurrentPrincipal
        return yield* preferences.update(userId, payload)
      }, withErrorObjects)
    })
  })
)
