/**
 * What an editor's connection at a Hub follows: the events of runs, hints about what has changed, and the end of its right.
 *
 * Guarantees: a stream of events fails when the right to read the run ends, and the connection ends with its sign-in or with its access to the project,
 * both as soon as any other stream of the Hub. Hints continue after changes may have been missed: then everything is read again.
 */
import type { HostHint } from "@corral/agent-host/host/HostBackend"
import { type Failure, NotFound, PermissionDenied, Unauthorized } from "@corral/domain/errors/Failures"
import type { ChangeHint } from "@corral/domain/hub-api/ChangeHint"
import type { RunId } from "@corral/domain/identity/Ids"
import { EventSequence, type SequencedEvent } from "@corral/domain/run/EventSequence"
import { isTerminal } from "@corral/domain/run/RunEnd"
import { decodeReceivedEvent } from "@corral/domain/run/RunEvent"
import { gapToConflict } from "@corral/service/stream/LogSource"
import { logStream } from "@corral/service/stream/ServerSentEvents"
import { StreamTimes } from "@corral/service/stream/StreamTimes"
import { Clock, Deferred, Effect, Exit, Stream } from "effect"
import { HubAuthority } from "../authority/HubAuthority.ts"
import { AgentConversations } from "../conversation/AgentConversations.ts"
import { ChangeFeed, ChangeReader } from "../live/ChangeFeed.ts"
import { RunFeeds } from "../live/RunFeeds.ts"
import { hubRunSource, type LostAccess, StreamAuthority } from "../live/StreamAuthority.ts"
import { RunLog } from "../run/RunLog.ts"
import { Runs } from "../run/Runs.ts"
import type { HostCalls, HostConnection } from "./HostCalls.ts"

const endings: Readonly<Record<LostAccess, string>> = {
  signInEnded: "Your sign-in at the Hub has ended. Sign in again with `corral login`.",
  accessLost: "You no longer have access to this project."
}

const lostFailure = (lost: LostAccess): Failure =>
  lost === "signInEnded" ? new Unauthorized() : new PermissionDenied()

const makeEvents = Effect.fnUntraced(function* ({ reading }: HostCalls) {
  const authority = yield* HubAuthority
  const logs = { feeds: yield* RunFeeds, log: yield* RunLog }
  const runs = yield* Runs
  const streams = yield* StreamAuthority
  const { pingEveryMs } = yield* StreamTimes

  const locate = Effect.fnUntraced(function* ({ scope }: HostConnection, runId: RunId) {
    const run = (yield* runs.locate(runId)) ?? (yield* new PermissionDenied())
    yield* authority.inProject("project.read", run.projectId, runId)
    return scope.projectId === undefined || scope.projectId === run.projectId ? run : yield* new NotFound()
  })

  return (connection: HostConnection, runId: RunId, after: number): Stream.Stream<SequencedEvent, Failure> =>
    Stream.unwrap(
      Effect.gen(function* () {
        const run = yield* locate(connection, runId).pipe(reading(connection, "runs.events"))
        const { lastSeq, projectId, state } = run
        const subject = { runId, after, isOver: after >= lastSeq && isTerminal(state) }
        const lost = yield* Deferred.make<void, Failure>()
        const unwatch = streams.watch({ ...connection, projectId, subject }, (why) =>
          Deferred.doneUnsafe(lost, Exit.fail(lostFailure(why)))
        )
        yield* Effect.addFinalizer(() => Effect.sync(unwatch))
        const sequence = new EventSequence(decodeReceivedEvent, after)
        return logStream(hubRunSource(logs, runId), subject, pingEveryMs).pipe(
          Stream.flattenIterable,
          Stream.flatMap(({ lines }) =>
            Stream.fromIterable(lines.split("\n").flatMap((line) => sequence.next(line) ?? []))
          ),
          Stream.catch((error) =>
            Stream.fromEffect(
              Effect.fail(error).pipe(gapToConflict(lastSeq), reading(connection, "runs.events"))
            )
          ),
          Stream.interruptWhen(Deferred.await(lost))
        )
      })
    )
})

/** Every change that may concern what the connection shows. */
const EVERYTHING: ReadonlyArray<HostHint> = [{ kind: "agents" }, { kind: "sessions" }]

/** The feed sends what the user may see. The connection ends by `ended`, so its sign-in is not verified again with each hint. */
const makeHints = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const conversations = yield* AgentConversations
  const feed = yield* ChangeFeed

  const hintsOf = Effect.fnUntraced(function* (
    { scope }: HostConnection,
    changes: ReadonlyArray<ChangeHint>
  ) {
    const shown = changes.filter(
      (change) =>
        scope.projectId === undefined || !("projectId" in change) || change.projectId === scope.projectId
    )
    const runIds = shown.flatMap((change) =>
      change.kind === "run" ? [change.id] : "runId" in change ? [change.runId] : []
    )
    const named = shown.flatMap((change) => (change.kind === "message" ? [change.sessionId] : []))
    const ofRuns = runIds.length === 0 ? [] : yield* conversations.sessionsOf([...new Set(runIds)])
    return [
      ...(shown.some(({ kind }) => kind === "device") ? [{ kind: "agents" } as const] : []),
      ...[...new Set([...named, ...ofRuns])].map((sessionId): HostHint => ({ kind: "session", sessionId }))
    ]
  })

  /** Ends when changes may have been missed. */
  const untilMissed = (connection: HostConnection): Stream.Stream<HostHint> =>
    Stream.unwrap(
      Effect.gen(function* () {
        const over = yield* Deferred.make<void>()
        const reader = yield* ChangeReader.make(
          connection.principal.userId,
          () => clock.currentTimeMillisUnsafe(),
          () => Deferred.doneUnsafe(over, Exit.void)
        )
        const unfollow = feed.follow(reader)
        yield* Effect.addFinalizer(() => Effect.sync(unfollow))
        return Stream.fromEffectRepeat(reader.changes).pipe(
          Stream.mapEffect((changes) =>
            hintsOf(connection, changes).pipe(Effect.orElseSucceed(() => EVERYTHING))
          ),
          Stream.flattenIterable,
          Stream.interruptWhen(Deferred.await(over))
        )
      })
    )

  const hints = (connection: HostConnection): Stream.Stream<HostHint> =>
    Stream.concat(
      untilMissed(connection),
      Stream.suspend(() => Stream.concat(Stream.fromIterable(EVERYTHING), hints(connection)))
    )
  return hints
})

export const makeHostStreams = Effect.fnUntraced(function* (calls: HostCalls) {
  const streams = yield* StreamAuthority
  return {
    events: yield* makeEvents(calls),
    hints: yield* makeHints,
    /** Completes with the reason when the right to the connection ends. */
    ended: ({ principal, requestId, scope: { projectId } }: HostConnection): Effect.Effect<string> =>
      Effect.callback((resume) => {
        const stream = { principal, requestId, ...(projectId === undefined ? {} : { projectId }) }
        return Effect.sync(streams.watch(stream, (lost) => resume(Effect.succeed(endings[lost]))))
      })
  }
})
