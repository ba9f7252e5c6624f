/**
 * Authority over event streams: finds the run or session that a request asks to follow, checks that the caller may read it before the
 * stream starts and for as long as it lasts, and says what the stream follows: the Hub's mirror of runs.
 *
 * Guarantees: a stream ends immediately when its sign-in ends or its project's members change, and within a minute in any case.
 */
import type { ValidationIssue } from "@corral/domain/errors/ErrorTable"
import { issuesOf } from "@corral/domain/errors/ValidationIssues"
import { beyondEnd, decodeHubStreamQuery } from "@corral/domain/http/EventStream"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { closeCodes, REAUTHORIZED_WITHIN_SECONDS } from "@corral/domain/http/StreamEnd"
import { CurrentPrincipal, type Principal } from "@corral/domain/hub-api/SessionAuthority"
import type { ProjectId, RequestId, RunId, SessionId } from "@corral/domain/identity/Ids"
import { isTerminal } from "@corral/domain/run/RunEnd"
import type { HttpRefusal } from "@corral/service/http/Refusal"
import { type LogSource, type SocketClose, type Start, withoutGap } from "@corral/service/stream/LogSource"
import { Clock, Context, Effect, Fiber, Layer, Result } from "effect"
import type { SqlError } from "effect/sql"
import { HubAuthority } from "../authority/HubAuthority.ts"
import type { RunLog } from "../run/RunLog.ts"
import { Runs } from "../run/Runs.ts"
import { SessionProject } from "../session/SessionTable.ts"
import { type Credential, HubCredentials } from "../signin/HubCredentials.ts"
import { Notices } from "../store/Notices.ts"
import type { RunFeeds } from "./RunFeeds.ts"

export const HUB_STREAM_PATH = "/client/events"
const STREAM = { method: "GET", path: HUB_STREAM_PATH, keyScope: "read" } as const

/** Request that asks for a stream. */
interface Caller {
  readonly principal: Principal
  readonly requestId: RequestId
}

/** `admit` finds what a target asks to follow, and fails when the caller may not follow it. `requireRead` checks a project. */
const makeStreamAdmission = Effect.gen(function* () {
  const authority = yield* HubAuthority
  const runs = yield* Runs
  const sessions = yield* SessionProject
  const credentials = yield* HubCredentials

  const requireRead = ({ principal, requestId }: Caller, projectId: ProjectId, resource: string) =>
    authority
      .inProject("project.read", projectId, resource)
      .pipe(
        Effect.provideService(CurrentPrincipal, principal),
        Effect.provideService(CurrentRequestId, requestId)
      )

  const admitRun = Effect.fnUntraced(function* (caller: Caller, runId: RunId, after: number) {
    const run = yield* runs.locate(runId)
    if (run === undefined) return yield* refuse({ code: "permission_denied" })
    const { lastSeq, projectId, state } = run
    yield* requireRead(caller, projectId, runId)
    if (after > lastSeq) return yield* refuseWith(beyondEnd("after"))
    return {
      ...caller,
      projectId,
      subject: { runId, after, isOver: after === lastSeq && isTerminal(state) }
    }
  })

  const admitSession = Effect.fnUntraced(function* (caller: Caller, sessionId: SessionId) {
    const projectId = yield* sessions.find(sessionId)
    if (projectId === undefined) return yield* refuse({ code: "permission_denied" })
    yield* requireRead(caller, projectId, sessionId)
    return { ...caller, projectId, subject: { sessionId } }
  })

  const admit = Effect.fn("StreamAuthority.admit")(function* (
    target: string,
    credential: Credential,
    requestId: RequestId
  ) {
    const url = URL.parse(`http://hub${target}`)
    if (url?.pathname !== HUB_STREAM_PATH) return yield* refuse({ code: "not_found" })
    const principal = yield* credentials.verify(credential, STREAM)
    const query = decodeHubStreamQuery(Object.fromEntries(url.searchParams))
    if (Result.isFailure(query)) return yield* refuseWith(...issuesOf(query.failure.issue))
    const { after, runId, sessionId } = query.success
    const caller = { principal, requestId }
    if (runId !== undefined && sessionId === undefined) return yield* admitRun(caller, runId, after ?? 0)
    if (sessionId === undefined || runId !== undefined)
      return yield* refuseWith({ path: "", message: "Expected either a runId or a sessionId" })
    // Each run has its own positions: one over all runs has no meaning.
    if (after !== undefined) return yield* refuseWith({ path: "after", message: "needs a runId" })
    return yield* admitSession(caller, sessionId)
  })

  return { admit, requireRead }
})

const refuse = (refusal: HttpRefusal): Effect.Effect<never, HttpRefusal> => Effect.fail(refusal)

const refuseWith = (...issues: ReadonlyArray<ValidationIssue>): Effect.Effect<never, HttpRefusal> =>
  refuse({ code: "schema_validation_failed", details: { issues } })

// The Hub's mirror of run logs (PostgreSQL) as the source of event streams and pages.

export type HubLogSource = LogSource<SqlError.SqlError>

/** Stores that a source reads. */
export interface HubLogs {
  readonly feeds: RunFeeds["Service"]
  readonly log: RunLog["Service"]
}

/** Closes a reader of a log that cannot be read now: the reader may try again. */
export const LOG_UNREADABLE: SocketClose = { code: closeCodes.stalled, reason: "the log cannot be read" }

/** The log of one run. */
export const hubRunSource = ({ feeds, log }: HubLogs, runId: RunId): HubLogSource => ({
  read: (after, budget) =>
    Effect.flatMap(log.read(runId, after, budget), (batches) => withoutGap(batches, after)),
  follow: (follower) => feeds.follow(runId, { followerOf: () => follower, wakeAll: () => follower.wake() }),
  hasDropped: () => false,
  closeFor: () => LOG_UNREADABLE
})

/** One run, from a position on. */
export interface RunSubject extends Start {
  readonly runId: RunId
}

/** All runs of a session. */
export interface SessionSubject {
  readonly sessionId: SessionId
}

export interface HubSubscription {
  readonly principal: Principal
  readonly projectId: ProjectId
  /** Request that started the stream: later permission checks are audited under it. */
  readonly requestId: RequestId
  readonly subject: RunSubject | SessionSubject
}

/** A stream that needs only a sign-in: it checks the permission for each thing it sends. */
type SignedInStream = Pick<HubSubscription, "principal" | "requestId">

/** A connection that needs a project. */
type ProjectStream = Pick<HubSubscription, "principal" | "projectId" | "requestId">

/** Reason why a stream must end. */
export type LostAccess = "signInEnded" | "accessLost"

export class StreamAuthority extends Context.Service<
  StreamAuthority,
  {
    /** Finds what the target asks to follow. Fails when the caller may not follow it. */
    readonly admit: (
      target: string,
      credential: Credential,
      requestId: RequestId
    ) => Effect.Effect<HubSubscription, HttpRefusal | SqlError.SqlError>
    /** Calls `onLost` once, when an admitted stream must end, until the returned function is called. `onLost` must not throw. */
    readonly watch: (stream: Stream, onLost: (lost: LostAccess) => void) => () => void
  }
>()("corral/hub/StreamAuthority") {
  static readonly layer = Layer.effect(
    StreamAuthority,
    Effect.gen(function* () {
      const { admit, requireRead } = yield* makeStreamAdmission
      const credentials = yield* HubCredentials
      const clock = yield* Clock.Clock
      const notices = yield* Notices
      const scope = yield* Effect.scope
      const services = yield* Effect.context<never>()
      const now = () => clock.currentTimeMillisUnsafe()
      const watches = new Set<Watch>()

      /** Reason why the stream must end, if it must. */
      const lossOf = Effect.fnUntraced(function* (stream: Stream) {
        if (!(yield* credentials.isValid(stream.principal))) return "signInEnded"
        if (!("projectId" in stream)) return undefined
        const { projectId } = stream
        const resource = "subject" in stream ? idOf(stream.subject) : projectId
        return yield* requireRead(stream, projectId, resource).pipe(
          Effect.as(undefined),
          Effect.catchTag("PermissionDenied", () => Effect.succeed("accessLost" as const))
        )
      })

      const endWatch = (watch: Watch, lost: LostAccess): void => {
        if (watches.delete(watch)) watch.onLost(lost)
      }

      const check = (watch: Watch) => {
        watch.checkedAt = now()
        return lossOf(watch.stream).pipe(
          Effect.map((lost) => lost && endWatch(watch, lost)),
          // Checked again in the next round: without the database there is nothing to read either.
          Effect.catchCause(() => Effect.sync(() => void (watch.checkedAt = 0)))
        )
      }

      const checkAll = (due: ReadonlyArray<Watch>) =>
        Effect.forEach(due, (watch) => Effect.suspend(() => check(watch)), { concurrency: 8, discard: true })

      const recheck = (isAffected: (stream: Stream) => boolean): void => {
        const due = [...watches].filter(({ stream }) => isAffected(stream))
        if (due.length > 0) Fiber.runIn(Effect.runForkWith(services)(checkAll(due)), scope)
      }

      notices.follow({
        onNotice: (kind, id) => {
          if (kind === "membership") recheck((stream) => "projectId" in stream && stream.projectId === id)
          if (kind !== "signInEnded") return
          for (const watch of watches)
            if (watch.stream.principal.signInId === id) endWatch(watch, "signInEnded")
        },
        onMissed: () => recheck(() => true)
      })

      yield* Effect.suspend(() => {
        const due = now() - CHECK_EVERY_MS
        return checkAll([...watches].filter(({ checkedAt }) => checkedAt < due))
      }).pipe(Effect.andThen(Effect.sleep("5 seconds")), Effect.forever, Effect.forkScoped)

      return StreamAuthority.of({
        admit,
        watch: (stream, onLost) => {
          const watch = { stream, onLost, checkedAt: now() }
          watches.add(watch)
          // The permission may have ended between admission and now, without a notice to this watch.
          recheck((other) => other === stream)
          return () => watches.delete(watch)
        }
      })
    })
  )
}

type Stream = HubSubscription | ProjectStream | SignedInStream

const idOf = (subject: RunSubject | SessionSubject): string =>
  "runId" in subject ? subject.runId : subject.sessionId

interface Watch {
  readonly stream: Stream
  readonly onLost: (lost: LostAccess) => void
  /** Unix milliseconds. */
  checkedAt: number
}

/** Rounds start every 5 s; the margin covers a slow database. */
const CHECK_EVERY_MS = (REAUTHORIZED_WITHIN_SECONDS - 15) * 1_000
