/** `GET /client/news`: the change feed as `text/event-stream`, until the sign-in ends or the reader stalls. */
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { eventStreamResponse, SSE_COMMENT } from "@corral/service/stream/ServerSentEvents"
import { NodeHttpServerRequest } from "@effect/platform-node"
import { Clock, Deferred, Effect, Exit, Stream } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { ChangeFeed, ChangeReader } from "../live/ChangeFeed.ts"
import { StreamAuthority } from "../live/StreamAuthority.ts"
import { withErrorObjects } from "./Handlers.ts"

export const changeFeedEndpoints = HttpApiBuilder.group(
  HubApi,
  "news",
  Effect.fnUntraced(function* (handlers) {
    const authority = yield* StreamAuthority
    const clock = yield* Clock.Clock
    const feed = yield* ChangeFeed

    return handlers.handleAll({
      follow: Effect.fnUntraced(function* () {
        const principal = yield* CurrentPrincipal
        const requestId = yield* CurrentRequestId
        const response = NodeHttpServerRequest.toServerResponse(yield* HttpServerRequest.HttpServerRequest)

        const changes = Effect.gen(function* () {
          const over = yield* Deferred.make<void>()
          const end = () => {
            Deferred.doneUnsafe(over, Exit.void)
            // A stalled reader does not read the end either.
            setTimeout(() => response.destroy(), FORCE_AFTER_MS).unref()
          }
          const reader = yield* ChangeReader.make(
            principal.userId,
            () => clock.currentTimeMillisUnsafe(),
            end
          )
          const unfollow = feed.follow(reader)
          const unwatch = authority.watch({ principal, requestId }, () => reader.end())
          yield* Effect.addFinalizer(() => Effect.sync(() => [unfollow(), unwatch()]))
          return Stream.make(SSE_COMMENT).pipe(
            Stream.concat(Stream.fromEffectRepeat(reader.next)),
            Stream.interruptWhen(Deferred.await(over))
          )
        })
        return eventStreamResponse(Stream.unwrap(changes))
      }, withErrorObjects)
    })
  })
)

const FORCE_AFTER_MS = 800
