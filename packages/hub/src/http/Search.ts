/** `/client/search`: texts of all projects that the caller may read. */
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import { pageOf } from "@corral/service/http/Paged"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { HubAuthority } from "../authority/HubAuthority.ts"
import { Search, searchPosition } from "../search/Search.ts"
import { decodePosition } from "../store/ListPage.ts"
import { withErrorObjects } from "./Handlers.ts"

export const searchEndpoints = HttpApiBuilder.group(
  HubApi,
  "search",
  Effect.fnUntraced(function* (handlers) {
    const authority = yield* HubAuthority
    const search = yield* Search

    return handlers.handleAll({
      find: Effect.fnUntraced(function* ({ query: { cursor, limit, projectId, q } }) {
        const { userId: reader } = yield* CurrentPrincipal
        if (projectId !== undefined) yield* authority.inProject("project.read", projectId)
        const list = {
          filter: `search ${JSON.stringify([q.trim(), projectId])}`,
          principal: reader,
          cursor,
          limit
        }
        return yield* pageOf(list, searchPosition, (after, limit) =>
          search.find(
            q,
            { reader, projectId },
            after === undefined ? undefined : decodePosition(after),
            limit
          )
        )
      }, withErrorObjects)
    })
  })
)
