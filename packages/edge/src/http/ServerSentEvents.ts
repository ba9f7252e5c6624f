/** A run's log as `text/event-stream`: `id:` is the seq, `Last-Event-ID` is where a reconnecting reader goes on. */
import { startAfter } from "@corral/domain/http/EventPosition"
import { PING_EVERY_SECONDS } from "@corral/domain/http/EventStream"
import type { RunId } from "@corral/domain/identity/Ids"
import { Duration, Effect, Schedule, Stream } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { EdgeEventLog } from "../log/EdgeEventLog.ts"
import { requireKept } from "./ReplayGap.ts"

export const asksForEvents = (request: HttpServerRequest.HttpServerRequest): boolean =>
  /(^|,)\s*text\/event-stream\s*(;|,|$)/i.test(request.headers.accept ?? "")

const seqOf = (line: string): string => /^\{"id":"[^"]*","seq":(\d+)/.exec(line)?.[1] ?? ""

const frame = (line: string): string => `id: ${seqOf(line)}\ndata: ${line}\n\n`

/** The head of an answer leaves with its first bytes: a reader that has everything is answered by saying nothing. */
const COMMENT = ": \n\n"
/** Keeps the connection of a quiet run, and finds out that its reader is gone. */
const PING_EVERY = Duration.seconds(PING_EVERY_SECONDS)

export const serverSentEvents = Effect.fnUntraced(function* (
  log: EdgeEventLog["Service"],
  runId: RunId,
  after: number | undefined,
  request: HttpServerRequest.HttpServerRequest
) {
  const start = startAfter(after, request.headers["last-event-id"], log.lastSeq(runId))
  if (typeof start !== "number") return yield* start
  yield* requireKept(log, runId, start)
  // A reader that retention overtakes is cut off, and is told why when it reconnects.
  const frames = Stream.map(log.stream(runId, start), (lines) => lines.map(frame).join(""))
  const isQuiet = log.read(runId, start, 1).length === 0
  const events = isQuiet ? Stream.concat(Stream.make(COMMENT), frames) : frames
  const pings = Stream.as(Stream.fromSchedule(Schedule.spaced(PING_EVERY)), COMMENT)
  const body = Stream.merge(events, pings, { haltStrategy: "left" })
  return HttpServerResponse.stream(Stream.encodeText(body), { contentType: "text/event-stream" })
})
