/**
 * A run's log as `text/event-stream`: `id:` is the seq, `Last-Event-ID` is where a reconnecting reader goes on. It ends with the run, and
 * when its reader may not read any more.
 */
import { Deferred, Effect, Exit, Option, Queue, Stream } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { RunFeeds } from "../live/RunFeeds.ts"
import type { RunSubject, StreamAuthority, Subscription } from "../live/StreamAuthority.ts"
import type { LogBatch } from "../run/LogBatch.ts"
import type { RunLog } from "../run/RunLog.ts"
import { isGap } from "./ReplayGap.ts"

type Request = HttpServerRequest.HttpServerRequest

export const asksForEvents = (request: Request): boolean =>
  /(^|,)\s*text\/event-stream\s*(;|,|$)/i.test(request.headers.accept ?? "")

const textOf = ({ firstSeq, lines }: LogBatch): string =>
  lines
    .split("\n")
    .map((line, i) => `id: ${firstSeq + i}\ndata: ${line}\n\n`)
    .join("")

/** A comment, at once and now and then: the answer's head leaves with its first bytes, and what stands between keeps the connection. */
const KEEP_ALIVE = ": \n\n"
const PAGE = 65_536

export const serverSentEvents = (
  live: {
    readonly authority: StreamAuthority["Service"]
    readonly feeds: RunFeeds["Service"]
    readonly log: RunLog["Service"]
  },
  subscription: Subscription<RunSubject>
): HttpServerResponse.HttpServerResponse => {
  const { after, over, runId } = subscription.subject
  const body = Effect.gen(function* () {
    const more = yield* Queue.sliding<void>(1)
    const lost = yield* Deferred.make<void>()
    const wake = () => void Queue.offerUnsafe(more, undefined)
    const unfollow = live.feeds.follow(runId, {
      // Reads for itself.
      waitsAfter: () => undefined,
      told: wake,
      woken: wake,
      wokenAll: wake
    })
    const unwatch = live.authority.watch(subscription, () => Deferred.doneUnsafe(lost, Exit.void))
    yield* Effect.addFinalizer(() => Effect.sync(() => [unfollow(), unwatch()]))
    let [position, ended, begun] = [after, over, false]
    const next = Effect.gen(function* () {
      for (;;) {
        if (ended) return ""
        const batches = yield* live.log.read(runId, position, PAGE)
        // A reader that retention overtakes is cut off, and is told why when it reconnects.
        if (isGap(batches, position)) return ""
        const last = batches.at(-1)
        if (last !== undefined) {
          begun = true
          position = last.lastSeq
          ended = last.terminal
          return batches.map(textOf).join("")
        }
        if (!begun) {
          begun = true
          return KEEP_ALIVE
        }
        const woken = yield* Queue.take(more).pipe(Effect.timeoutOption("20 seconds"))
        if (Option.isNone(woken)) return KEEP_ALIVE
      }
    })
    return Stream.fromEffectRepeat(next).pipe(
      Stream.takeWhile((text) => text !== ""),
      Stream.interruptWhen(Deferred.await(lost)),
      Stream.encodeText
    )
  })
  return HttpServerResponse.stream(Stream.unwrap(body), { contentType: "text/event-stream" })
}
