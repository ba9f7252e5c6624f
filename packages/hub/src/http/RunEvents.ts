/** `GET /client/runs/{id}/events`: the mirror of a run's log as a JSON page or as `text/event-stream`. */
import { startAfter } from "@corral/domain/http/EventPosition"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import type { HubRunStatus } from "@corral/domain/hub-api/HubRun"
import type { ProjectId, RunId } from "@corral/domain/identity/Ids"
import { isTerminal } from "@corral/domain/run/RunEnd"
import { gapToConflict } from "@corral/service/stream/Gap"
import { eventPage } from "@corral/service/stream/Page"
import {
  acceptsEventStream,
  eventStreamResponse,
  serverSentEvents
} from "@corral/service/stream/ServerSentEvents"
import { Deferred, Effect, Exit, Stream } from "effect"
import { HttpServerRequest } from "effect/http"
import { type HubLogs, hubRunSource } from "../live/HubLogSource.ts"
import type { StreamAuthority } from "../live/StreamAuthority.ts"
import type { HubSubscription } from "../live/StreamSubscription.ts"

export interface HubRunEvents {
  readonly run: {
    readonly id: RunId
    readonly projectId: ProjectId
    readonly lastSeq: number
    readonly state: HubRunStatus
  }
  readonly after: number | undefined
  readonly limit: number
}

/** Fails when the position is beyond the log, or when retention has dropped what follows it. The caller has authorized the read. */
export const hubRunEvents = Effect.fn("RunEvents.hubRunEvents")(function* (
  logs: HubLogs,
  authority: StreamAuthority["Service"],
  { after, limit, run }: HubRunEvents
) {
  const { id: runId, lastSeq, projectId, state } = run
  const requestId = yield* CurrentRequestId
  const request = yield* HttpServerRequest.HttpServerRequest
  const isStream = acceptsEventStream(request)
  const start = startAfter(after, isStream ? request.headers["last-event-id"] : undefined, lastSeq)
  if (typeof start !== "number") return yield* start
  const source = hubRunSource(logs, runId)
  if (!isStream) {
    const page = eventPage(source, { after: start, limit, lastSeq, requestId })
    return yield* gapToConflict(lastSeq)(page)
  }
  const subject = { runId, after: start, isOver: start === lastSeq && isTerminal(state) }
  const events = yield* gapToConflict(lastSeq)(serverSentEvents(source, subject))
  const principal = yield* CurrentPrincipal
  return eventStreamResponse(whileAuthorized(authority, { principal, projectId, requestId, subject }, events))
})

/** Ends the stream when its reader loses access. */
const whileAuthorized = <E>(
  authority: StreamAuthority["Service"],
  subscription: HubSubscription,
  events: Stream.Stream<string, E>
): Stream.Stream<string, E> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const lost = yield* Deferred.make<void>()
      const unwatch = authority.watch(subscription, () => Deferred.doneUnsafe(lost, Exit.void))
      yield* Effect.addFinalizer(() => Effect.sync(unwatch))
      return Stream.interruptWhen(events, Deferred.await(lost))
    })
  )
