/** WebSockets at `/client/events`. A socket closes within a second when its reader loses access, whether the reader responds or not. */
import { hubCloseCodes } from "@corral/domain/http/StreamEnd"
import type { ProjectId, RunId, SessionId } from "@corral/domain/identity/Ids"
import type { EventSocket } from "@corral/service/stream/EventSocket"
import type { LogCursor } from "@corral/service/stream/LogCursor"
import { type Upgrade, makeSockets } from "@corral/service/stream/Sockets"
import { Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import { hubMetrics } from "../HubMetrics.ts"
import { RunLog } from "../run/RunLog.ts"
import { Runs } from "../run/Runs.ts"
import {
  type HubLogs,
  hubRunSource,
  type HubSubscription,
  LOG_UNREADABLE,
  type LostAccess,
  StreamAuthority
} from "./StreamAuthority.ts"
import { RunFeeds } from "./RunFeeds.ts"

export class EventSockets extends Context.Service<
  EventSockets,
  {
    /** Completes the handshake and serves the subscription until either side ends it. */
    readonly accept: (upgrade: Upgrade, subscription: HubSubscription) => void
    /** Closes every socket with 1001. Succeeds when all are closed, by force after a second. */
    readonly closeAll: Effect.Effect<void>
  }
>()("corral/hub/EventSockets") {
  static readonly layer = Layer.effect(
    EventSockets,
    Effect.gen(function* () {
      const authority = yield* StreamAuthority
      const logs = { feeds: yield* RunFeeds, log: yield* RunLog, runs: yield* Runs }
      const services = yield* Effect.context<never>()
      const fork = Effect.runForkWith(services)
      const sockets = yield* makeSockets<SqlError.SqlError>({
        metric: hubMetrics.followers,
        stopReason: "the Hub is stopping"
      })

      return EventSockets.of({
        accept: (upgrade, subscription) => {
          const { projectId, subject } = subscription
          sockets.accept(upgrade, "runId" in subject, (socket) => {
            const onLost = (lost: LostAccess) => socket.revoke(hubCloseCodes[lost], lossReasons[lost])
            socket.releaseWith(authority.watch(subscription, onLost))
            if ("runId" in subject) socket.follow(hubRunSource(logs, subject.runId), subject)
            else followSession(socket, { ...logs, projectId, sessionId: subject.sessionId }, fork)
          })
        },
        closeAll: sockets.closeAll
      })
    })
  )
}

const lossReasons: Readonly<Record<LostAccess, string>> = {
  signInEnded: "the sign-in has ended",
  accessLost: "access was lost"
}

/** All runs of a session on one socket: those that exist, and those that start later. Each run keeps its own order. */
interface SessionStream extends HubLogs {
  readonly runs: Runs["Service"]
  readonly projectId: ProjectId
  readonly sessionId: SessionId
}

/** Sends every run of the session from its first event. `fork` runs the list of runs. */
const followSession = (
  socket: EventSocket<SqlError.SqlError>,
  session: SessionStream,
  fork: (effect: Effect.Effect<void>) => unknown
): void => {
  const { projectId, runs, sessionId } = session
  const cursors = new Map<RunId, LogCursor<SqlError.SqlError>>()
  const cursorOf = (runId: RunId) => {
    const existing = cursors.get(runId)
    if (existing !== undefined) return existing
    const cursor = socket.cursorOf(hubRunSource(session, runId), 0)
    cursors.set(runId, cursor)
    return cursor
  }
  const wakeAll = () =>
    void fork(
      runs.listIdsOfSession(projectId, sessionId).pipe(
        Effect.map((runIds) => {
          for (const runId of runIds) cursorOf(runId).wake()
        }),
        Effect.catchCause(() => Effect.sync(() => socket.end(LOG_UNREADABLE.code, LOG_UNREADABLE.reason)))
      )
    )
  socket.releaseWith(session.feeds.follow(sessionId, { followerOf: cursorOf, wakeAll }))
  wakeAll()
}
