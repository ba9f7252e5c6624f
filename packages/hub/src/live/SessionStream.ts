/** All runs of a session on one socket: those that exist, and those that start later. Each run keeps its own order. */
import type { ProjectId, RunId, SessionId } from "@corral/domain/identity/Ids"
import type { LogCursor } from "@corral/service/stream/LogCursor"
import type { EventSocket } from "@corral/service/stream/EventSocket"
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { Runs } from "../run/Runs.ts"
import { type HubLogs, LOG_UNREADABLE, hubRunSource } from "./HubLogSource.ts"

export interface SessionStream extends HubLogs {
  readonly runs: Runs["Service"]
  readonly projectId: ProjectId
  readonly sessionId: SessionId
}

/** Sends every run of the session from its first event. `fork` runs the list of runs. */
export const followSession = (
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
