/** Events of one run for a chat: all of them, across lost connections, for as long as the chat is open. */
import { streamOfBatches } from "@corral/client/effect/EventStreams"
import type { ConnectionState } from "@corral/client/stream/Reconnection"
import { runEventBatches } from "@corral/client/stream/RunEvents"
import type { RunId } from "@corral/domain/identity/Ids"
import { decodeReceivedEvent } from "@corral/domain/run/RunEvent"
import { Effect, Stream } from "effect"
import { locatedSource } from "../run/EventTail.ts"
import type { RunServer } from "../run/RunServer.ts"
import type { ThreadUpdate } from "./ChatThread.ts"

const PAUSES_MS = [200, 5_000] as const

export interface FollowTurnOptions {
  readonly runId: RunId
  readonly agent: string
  readonly report: (update: ThreadUpdate) => void
  /** Completes when the reader of the updates takes more: a slow one slows the stream. */
  readonly ready?: Effect.Effect<void>
  readonly onConnection?: (state: ConnectionState) => void
}

/** Completes at the end of the run, or when its events can no longer be read. */
export const followTurn = (
  server: RunServer,
  { agent, onConnection, ready = Effect.void, report, runId }: FollowTurnOptions
): Effect.Effect<void> =>
  Effect.suspend(() => {
    report({ kind: "turn", runId, agent })
    const source = locatedSource(server.stream, runId)
    const batches = (signal: AbortSignal) =>
      runEventBatches(source, decodeReceivedEvent, {
        signal,
        pauses: PAUSES_MS,
        onGap: ({ from, to }) =>
          report({ kind: "notice", text: `Events ${from} to ${to} of the turn are no longer available.` }),
        ...(onConnection === undefined ? {} : { onConnection })
      })
    return streamOfBatches(batches).pipe(
      Stream.runForEach((event) => {
        report({ kind: "event", runId, event })
        return ready
      }),
      Effect.match({
        onSuccess: () => report({ kind: "ended", runId, problem: undefined }),
        onFailure: ({ code, message }) => report({ kind: "ended", runId, problem: message, code })
      })
    )
  })
