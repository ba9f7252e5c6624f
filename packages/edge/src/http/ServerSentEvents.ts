/** A run's log as `text/event-stream`: `id:` is the seq, `Last-Event-ID` is where a reconnecting reader goes on. */
import { SchemaValidationFailed } from "@corral/domain/Failures"
import type { RunId } from "@corral/domain/Ids"
import { Effect, Stream } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { EventLog } from "../EventLog.ts"
import { requireKept } from "./ReplayGap.ts"

export const asksForEvents = (request: HttpServerRequest.HttpServerRequest): boolean =>
  /(^|,)\s*text\/event-stream\s*(;|,|$)/i.test(request.headers.accept ?? "")

const seqOf = (line: string): string => /^\{"id":"[^"]*","seq":(\d+)/.exec(line)?.[1] ?? ""

const frame = (line: string): string => `id: ${seqOf(line)}\ndata: ${line}\n\n`

/** The head of an answer leaves with its first bytes: a reader that has everything is answered by saying nothing. */
const COMMENT = ": \n\n"

/** `Last-Event-ID` wins: a reader that reconnects sends it along with the address, and thus the `after`, that it began with. */
const startOf = (after: number | undefined, lastEventId: string | undefined) => {
  if (lastEventId === undefined || lastEventId === "") return Effect.succeed(after ?? 0)
  return /^\d{1,15}$/.test(lastEventId)
    ? Effect.succeed(Number(lastEventId))
    : Effect.fail(
        new SchemaValidationFailed({
          details: { issues: [{ path: "last-event-id", message: "Expected a seq" }] }
        })
      )
}

export const serverSentEvents = Effect.fnUntraced(function* (
  log: EventLog["Service"],
  runId: RunId,
  after: number | undefined,
  request: HttpServerRequest.HttpServerRequest
) {
  const start = yield* startOf(after, request.headers["last-event-id"])
  yield* requireKept(log, runId, start)
  // A reader that retention overtakes is cut off, and is told why when it reconnects.
  const frames = Stream.map(log.stream(runId, start), (lines) => lines.map(frame).join(""))
  const isQuiet = log.read(runId, start, 1).length === 0
  const body = isQuiet ? Stream.concat(Stream.make(COMMENT), frames) : frames
  return HttpServerResponse.stream(Stream.encodeText(body), { contentType: "text/event-stream" })
})
