/**
 * Who may follow what: found before a stream begins, and again as long as it lasts.
 *
 * Whether a reader may read is looked at again within a minute, and at once when a sign-in ends or a project's members change.
 */
import { decodeHubStreamQuery, REAUTHORIZED_WITHIN_SECONDS } from "@corral/domain/http/EventStream"
import { CurrentPrincipal, type Principal } from "@corral/domain/hub-api/SessionAuthority"
import type { ProjectId, RequestId, RunId, SessionId } from "@corral/domain/identity/Ids"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { issuesOf } from "@corral/domain/errors/ValidationIssues"
import type { HttpRefusal } from "@corral/service/http/Refusal"
import { Clock, Context, Effect, Fiber, Layer, Result } from "effect"
import type { SqlError } from "effect/sql"
import { HubAuthority } from "../authority/HubAuthority.ts"
import { isFinalState, Runs } from "../run/Runs.ts"
import { SessionProject } from "../run/SessionProject.ts"
import { type Credential, Credentials } from "../signin/Credentials.ts"
import { Notices } from "../store/Notices.ts"

export const STREAM_PATH = "/client/events"

/** One run, from a position on. */
export interface RunSubject {
  readonly runId: RunId
  readonly after: number
  /** Nothing comes after the position: the run has ended there. */
  readonly over: boolean
}

/** All runs of a session. */
export interface SessionSubject {
  readonly sessionId: SessionId
}

export interface Subscription<S extends RunSubject | SessionSubject = RunSubject | SessionSubject> {
  readonly principal: Principal
  readonly projectId: ProjectId
  /** Of the request that began it: what is found of it later belongs to that in the audit. */
  readonly requestId: RequestId
  readonly subject: S
}

/** What is followed by a sign-in alone: what of it may be seen is looked up as it comes. */
export type SignedInStream = Pick<Subscription, "principal" | "requestId">

/** Why a stream may not go on. */
export type Lost = "signInEnded" | "accessLost"

export class StreamAuthority extends Context.Service<
  StreamAuthority,
  {
    /** Gives what the target asks to follow, or why it may not be. */
    readonly admit: (
      target: string,
      credential: Credential,
      requestId: RequestId
    ) => Effect.Effect<Subscription, HttpRefusal | SqlError.SqlError>
    /**
     * Looks after a stream that was admitted: `onLost` is called once where it may not go on. It must not throw. The returned function
     * ends the watch.
     */
    readonly watch: (subscription: Subscription | SignedInStream, onLost: (lost: Lost) => void) => () => void
  }
>()("corral/hub/StreamAuthority") {
  static readonly layer = Layer.effect(
    StreamAuthority,
    Effect.gen(function* () {
      const authority = yield* HubAuthority
      const runs = yield* Runs
      const sessions = yield* SessionProject
      const credentials = yield* Credentials
      const clock = yield* Clock.Clock
      const notices = yield* Notices
      const scope = yield* Effect.scope
      const services = yield* Effect.context<never>()
      const now = () => clock.currentTimeMillisUnsafe()
      const streams = new Set<Watched>()

      const mayRead = (principal: Principal, requestId: RequestId, projectId: ProjectId, resource: string) =>
        authority
          .inProject("project.read", projectId, resource)
          .pipe(
            Effect.provideService(CurrentPrincipal, principal),
            Effect.provideService(CurrentRequestId, requestId)
          )

      /** Where the run stands, and that its project may be read. */
      const ofRun = Effect.fnUntraced(function* (
        principal: Principal,
        requestId: RequestId,
        runId: RunId,
        after: number
      ) {
        const place = yield* runs.locate(runId)
        if (place === undefined) return yield* refused({ code: "permission_denied" })
        const { lastSeq, projectId, state } = place
        yield* mayRead(principal, requestId, projectId, runId)
        if (after > lastSeq) return yield* unfit("after", "is beyond the last event of the run")
        const over = after === lastSeq && isFinalState(state)
        return { principal, requestId, projectId, subject: { runId, after, over } }
      })

      const ofSession = Effect.fnUntraced(function* (
        principal: Principal,
        requestId: RequestId,
        sessionId: SessionId
      ) {
        const projectId = yield* sessions.find(sessionId)
        if (projectId === undefined) return yield* refused({ code: "permission_denied" })
        yield* mayRead(principal, requestId, projectId, sessionId)
        return { principal, requestId, projectId, subject: { sessionId } }
      })

      /** Why the stream may not go on; `undefined` where it may. */
      const lostBy = Effect.fnUntraced(function* (subscription: Subscription | SignedInStream) {
        if (!(yield* credentials.lives(subscription.principal))) return "signInEnded"
        if (!("subject" in subscription)) return undefined
        const { principal, projectId, requestId, subject } = subscription
        const resource = "runId" in subject ? subject.runId : subject.sessionId
        return yield* mayRead(principal, requestId, projectId, resource).pipe(
          Effect.as(undefined),
          Effect.catchTag("PermissionDenied", () => Effect.succeed("accessLost" as const))
        )
      })

      const lose = (watched: Watched, lost: Lost): void => {
        if (streams.delete(watched)) watched.onLost(lost)
      }

      const check = (due: ReadonlyArray<Watched>) =>
        Effect.forEach(
          due,
          (watched) => {
            watched.checkedAt = now()
            return lostBy(watched.subscription).pipe(
              Effect.map((lost) => lost && lose(watched, lost)),
              // Asked again at the next look: without the database there is nothing to read either.
              Effect.catch(() => Effect.sync(() => void (watched.checkedAt = 0)))
            )
          },
          { concurrency: 8, discard: true }
        )

      const recheck = (wanted: (subscription: Watched["subscription"]) => boolean): void => {
        const due = [...streams].filter(({ subscription }) => wanted(subscription))
        if (due.length > 0) Fiber.runIn(Effect.runForkWith(services)(check(due)), scope)
      }

      notices.follow({
        onNotice: (kind, id) => {
          if (kind === "membership") recheck((other) => "projectId" in other && other.projectId === id)
          if (kind !== "signInEnded") return
          for (const watched of streams)
            if (watched.subscription.principal.signInId === id) lose(watched, "signInEnded")
        },
        onMissed: () => recheck(() => true)
      })

      yield* Effect.suspend(() => {
        const due = now() - CHECK_EVERY_MS
        return check([...streams].filter(({ checkedAt }) => checkedAt < due))
      }).pipe(Effect.andThen(Effect.sleep("5 seconds")), Effect.forever, Effect.forkScoped)

      return StreamAuthority.of({
        admit: Effect.fnUntraced(function* (target, credential, requestId) {
          const url = URL.parse(`http://hub${target}`)
          if (url?.pathname !== STREAM_PATH) return yield* refused({ code: "not_found" })
          const principal = yield* credentials.judge(credential, { method: "GET", path: STREAM_PATH })
          const query = decodeHubStreamQuery(Object.fromEntries(url.searchParams))
          if (Result.isFailure(query)) {
            const details = { issues: issuesOf(query.failure.issue) }
            return yield* refused({ code: "schema_validation_failed", details })
          }
          const { after, runId, sessionId } = query.success
          if (runId !== undefined && sessionId === undefined)
            return yield* ofRun(principal, requestId, runId, after ?? 0)
          if (sessionId === undefined || runId !== undefined)
            return yield* unfit("", "Expected either a runId or a sessionId")
          // Each run counts for itself: a position over all of them would mean nothing.
          if (after !== undefined) return yield* unfit("after", "needs a runId")
          return yield* ofSession(principal, requestId, sessionId)
        }),

        watch: (subscription, onLost) => {
          const watched = { subscription, onLost, checkedAt: now() }
          streams.add(watched)
          // Between the check that admitted it and now its right may have ended, unheard.
          recheck((other) => other === subscription)
          return () => streams.delete(watched)
        }
      })
    })
  )
}

interface Watched {
  readonly subscription: Subscription | SignedInStream
  readonly onLost: (lost: Lost) => void
  /** Unix milliseconds. */
  checkedAt: number
}

/** Looked at every 5 s, and done within the promised time also where the database is slow. */
const CHECK_EVERY_MS = (REAUTHORIZED_WITHIN_SECONDS - 15) * 1_000

const refused = (refusal: HttpRefusal): Effect.Effect<never, HttpRefusal> => Effect.fail(refusal)

const unfit = (path: string, message: string): Effect.Effect<never, HttpRefusal> =>
  refused({ code: "schema_validation_failed", details: { issues: [{ path, message }] } })
