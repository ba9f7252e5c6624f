/**
 * All subscribers of `/client/events`: accepted here, watched as long as they last, closed when they may not read any more.
 *
 * Whether a reader may read is looked at again within a minute, and at once when a sign-in ends or a project's members change: then the
 * socket is closed within a second, whether its reader answers or not.
 */
import { hubCloseCodes, REAUTHORIZED_WITHIN_SECONDS } from "@corral/domain/EventStream"
import type { RequestId } from "@corral/domain/Ids"
import { standingHeaders } from "@corral/service/http/Refusal"
import { Clock, Context, Effect, Fiber, Layer } from "effect"
import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { WebSocketServer } from "ws"
import { RunLog } from "../run/RunLog.ts"
import { Runs } from "../run/Runs.ts"
import { EventSocket, type LogSource } from "./EventSocket.ts"
import { Notices } from "./Notices.ts"
import { RunFeeds } from "./RunFeeds.ts"
import { type Lost, StreamAuthority, type Subscription } from "./StreamAuthority.ts"

export class EventSockets extends Context.Service<
  EventSockets,
  {
    /** Completes the handshake and serves the subscription until either side ends it. */
    readonly accept: (
      request: IncomingMessage,
      socket: Duplex,
      head: Buffer,
      subscription: Subscription
    ) => void
    /** Ends every subscription with 1001; succeeds when all sockets are closed, by force after a second. */
    readonly closeAll: Effect.Effect<void>
  }
>()("corral/hub/EventSockets") {
  static readonly layer = Layer.effect(
    EventSockets,
    Effect.gen(function* () {
      const authority = yield* StreamAuthority
      const clock = yield* Clock.Clock
      const feeds = yield* RunFeeds
      const log = yield* RunLog
      const notices = yield* Notices
      const runs = yield* Runs
      const scope = yield* Effect.scope
      const services = yield* Effect.context<never>()
      const promise = Effect.runPromiseWith(services)
      const now = () => clock.currentTimeMillisUnsafe()
      const open = new Map<EventSocket, Reader>()
      let whenEmpty: (() => void) | undefined

      const handshakes = new WebSocketServer({ noServer: true, clientTracking: false, maxPayload: 4_096 })
      handshakes.on("headers", (headers, request) => {
        // The server has put the id in its place.
        const id = request.headers["x-request-id"] as RequestId
        for (const [name, value] of Object.entries(standingHeaders(id))) headers.push(`${name}: ${value}`)
      })

      const sourceOf = ({ projectId, subject }: Subscription): LogSource => ({
        read: (runId, after) => promise(log.read(runId, after, PAGE)),
        runs: () =>
          "runId" in subject
            ? Promise.resolve([subject.runId])
            : promise(runs.ofSession(projectId, subject.sessionId))
      })

      const close = (socket: EventSocket, code: number, reason: string) => {
        socket.end(code, reason)
        // A reader that does not answer is not waited for; what it had not taken yet it does not get.
        setTimeout(() => socket.terminate(), FORCE_AFTER_MS).unref()
      }

      const lose = (socket: EventSocket, lost: Lost) =>
        close(
          socket,
          hubCloseCodes[lost],
          lost === "signInEnded" ? "the sign-in has ended" : "access was lost"
        )

      const checkAll = (readers: ReadonlyArray<Reader>) =>
        Effect.forEach(
          readers,
          (reader) => {
            reader.checkedAt = now()
            return authority.lost(reader.subscription).pipe(
              Effect.map((lost) => lost && lose(reader.socket, lost)),
              // Asked again at the next look: without the database there is nothing to read either.
              Effect.catch(() => Effect.sync(() => void (reader.checkedAt = 0)))
            )
          },
          { concurrency: 4, discard: true }
        )

      const recheck = (wanted: (subscription: Subscription) => boolean) => {
        const readers = [...open.values()].filter(({ subscription }) => wanted(subscription))
        if (readers.length > 0) Fiber.runIn(Effect.runForkWith(services)(checkAll(readers)), scope)
      }

      notices.follow({
        onNotice: (kind, id) => {
          if (kind === "membership") recheck(({ projectId }) => projectId === id)
          if (kind !== "signInEnded") return
          for (const { socket, subscription } of open.values())
            if (subscription.principal.signInId === id) lose(socket, "signInEnded")
        },
        onMissed: () => recheck(() => true)
      })

      yield* Effect.suspend(() => {
        open.forEach(({ socket }) => socket.tick())
        const due = now() - CHECK_EVERY_MS
        return checkAll([...open.values()].filter(({ checkedAt }) => checkedAt < due))
      }).pipe(Effect.andThen(Effect.sleep("5 seconds")), Effect.forever, Effect.forkScoped)

      return EventSockets.of({
        accept: (request, stream, head, subscription) =>
          handshakes.handleUpgrade(request, stream, head, (webSocket) => {
            const { subject } = subscription
            const socket = new EventSocket(webSocket, stream, sourceOf(subscription), now, {
              endsWithRun: "runId" in subject,
              positions: new Map("runId" in subject ? [[subject.runId, subject.after]] : [])
            })
            const unfollow = feeds.follow("runId" in subject ? subject.runId : subject.sessionId, socket)
            const reader = { socket, subscription, checkedAt: now() }
            open.set(socket, reader)
            webSocket.once("close", () => {
              socket.release()
              unfollow()
              open.delete(socket)
              if (open.size === 0) whenEmpty?.()
            })
            if ("runId" in subject && subject.over)
              return socket.end(hubCloseCodes.ended, "the run has ended")
            // Between the check and now its right may have ended, unheard.
            recheck((other) => other === subscription)
            socket.wokenAll()
          }),
        closeAll: Effect.callback<void>((resume) => {
          if (open.size === 0) return resume(Effect.void)
          whenEmpty = () => resume(Effect.void)
          open.forEach(({ socket }) => socket.end(GOING_AWAY, "the Hub is stopping"))
        }).pipe(
          Effect.timeoutOption("1 second"),
          Effect.andThen(Effect.sync(() => open.forEach(({ socket }) => socket.terminate())))
        )
      })
    })
  )
}

interface Reader {
  readonly socket: EventSocket
  readonly subscription: Subscription
  /** Unix milliseconds. */
  checkedAt: number
}

/** Characters of log that are read at once for a reader that is behind. */
const PAGE = 65_536
/** Looked at every 5 s, and done within the promised time also where the database is slow. */
const CHECK_EVERY_MS = (REAUTHORIZED_WITHIN_SECONDS - 15) * 1_000
const FORCE_AFTER_MS = 800
/** RFC 6455: the server goes down. */
const GOING_AWAY = 1001
