/** `GET /v1/runs/{id}/events`: a run's log as a JSON page or as `text/event-stream`. */
import { startAfter } from "@corral/domain/http/EventPosition"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import type { RunId } from "@corral/domain/identity/Ids"
import { gapToConflict } from "@corral/service/stream/Gap"
import { eventPage } from "@corral/service/stream/Page"
import {
  acceptsEventStream,
  eventStreamResponse,
  serverSentEvents,
  SSE_COMMENT
} from "@corral/service/stream/ServerSentEvents"
import { Effect, Stream } from "effect"
import type { HttpServerRequest } from "effect/http"
import { edgeRunSource } from "../log/EdgeLogSource.ts"
import type { EdgeEventLog } from "../log/EdgeEventLog.ts"

export interface EventsRequest {
  readonly runId: RunId
  readonly after?: number | undefined
  readonly limit: number
  readonly request: HttpServerRequest.HttpServerRequest
}

/** Fails if the position is beyond the log, or if retention has dropped later events. */
export const runEvents = Effect.fn("RunEvents.runEvents")(
  function* (log: EdgeEventLog["Service"], { after, limit, request, runId }: EventsRequest) {
    const isStream = acceptsEventStream(request)
    const lastSeq = log.lastSeq(runId)
    const start = startAfter(after, isStream ? request.headers["last-event-id"] : undefined, lastSeq)
    if (typeof start !== "number") return yield* start
    const source = edgeRunSource(log, runId)
    if (!isStream) {
      const requestId = yield* CurrentRequestId
      const page = eventPage(source, { after: start, limit, lastSeq, requestId })
      return yield* gapToConflict(lastSeq)(page)
    }
    if (log.endsAt(runId, start)) return eventStreamResponse(Stream.make(SSE_COMMENT))
    const events = serverSentEvents(source, { after: start, isOver: false })
    const text = yield* gapToConflict(lastSeq)(events)
    return eventStreamResponse(text)
  },
  // The server handles reads of damaged data for all endpoints.
  Effect.catchTag("StoreDamaged", (damage) => Effect.die(damage))
)
