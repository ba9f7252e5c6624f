/** `GET /client/news`: hints as `text/event-stream`, until the sign-in ends or the reader takes nothing more. */
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { NodeHttpServerRequest } from "@effect/platform-node"
import { Clock, Deferred, Effect, Exit, Stream } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { News } from "../live/News.ts"
import { COMMENT, NewsReader } from "../live/NewsReader.ts"
import { StreamAuthority } from "../live/StreamAuthority.ts"
import { answered } from "./Answered.ts"

export const news = HttpApiBuilder.group(
  HubApi,
  "news",
  Effect.fnUntraced(function* (handlers) {
    const authority = yield* StreamAuthority
    const clock = yield* Clock.Clock
    const news = yield* News

    return handlers.handleAll({
      follow: Effect.fnUntraced(function* () {
        const principal = yield* CurrentPrincipal
        const requestId = yield* CurrentRequestId
        const response = NodeHttpServerRequest.toServerResponse(yield* HttpServerRequest.HttpServerRequest)

        const hints = Effect.gen(function* () {
          const over = yield* Deferred.make<void>()
          const end = () => {
            Deferred.doneUnsafe(over, Exit.void)
            // A reader that takes nothing is not waited for.
            setTimeout(() => response.destroy(), FORCE_AFTER_MS).unref()
          }
          const reader = yield* NewsReader.make(principal.userId, () => clock.currentTimeMillisUnsafe(), end)
          const unfollow = news.follow(reader)
          const unwatch = authority.watch({ principal, requestId }, () => reader.end())
          yield* Effect.addFinalizer(() => Effect.sync(() => [unfollow(), unwatch()]))
          return Stream.make(COMMENT).pipe(
            Stream.concat(Stream.fromEffectRepeat(reader.next)),
            Stream.interruptWhen(Deferred.await(over)),
            Stream.encodeText
          )
        })
        return HttpServerResponse.stream(Stream.unwrap(hints), { contentType: "text/event-stream" })
      }, answered)
    })
  })
)

const FORCE_AFTER_MS = 800
