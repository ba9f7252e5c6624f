/**
 * Who may follow what on `/client/events`: found before the upgrade, and again as long as the stream lasts.
 */
import { decodeHubStreamQuery } from "@corral/domain/EventStream"
import { CurrentPrincipal, type Principal } from "@corral/domain/hub-api/SessionAuthority"
import type { ProjectId, RequestId, RunId, SessionId } from "@corral/domain/Ids"
import { isTerminal } from "@corral/domain/Run"
import { CurrentRequestId } from "@corral/domain/RequestContext"
import { issuesOf } from "@corral/domain/ValidationIssues"
import type { Refusal } from "@corral/service/http/Refusal"
import { Context, Effect, Layer, Result } from "effect"
import type { SqlError } from "effect/sql"
import { Authority } from "../authority/Authority.ts"
import { Runs } from "../run/Runs.ts"
import { SessionProject } from "../run/SessionProject.ts"
import { type Credential, Credentials } from "../signin/Credentials.ts"

export const STREAM_PATH = "/client/events"

/** What somebody follows: one run from a position on, or all runs of a session. */
export type Subject =
  | { readonly runId: RunId; readonly after: number; readonly over: boolean }
  | { readonly sessionId: SessionId }

export interface Subscription {
  readonly principal: Principal
  readonly projectId: ProjectId
  /** Of the upgrade: what is found of it later belongs to it in the audit. */
  readonly requestId: RequestId
  readonly subject: Subject
}

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
    ) => Effect.Effect<Subscription, Refusal | SqlError.SqlError>
    /** Whether it may go on; `undefined` where it may. */
    readonly lost: (subscription: Subscription) => Effect.Effect<Lost | undefined, SqlError.SqlError>
  }
>()("corral/hub/StreamAuthority") {
  static readonly layer = Layer.effect(
    StreamAuthority,
    Effect.gen(function* () {
      const authority = yield* Authority
      const runs = yield* Runs
      const sessions = yield* SessionProject
      const credentials = yield* Credentials

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
        const place = yield* runs.place(runId)
        if (place === undefined) return yield* refused({ code: "permission_denied" })
        const { lastSeq, projectId, state } = place
        yield* mayRead(principal, requestId, projectId, runId)
        if (after > lastSeq) return yield* unfit("after", "is beyond the last event of the run")
        const over = after === lastSeq && state !== "queued" && isTerminal(state)
        return { principal, requestId, projectId, subject: { runId, after, over } }
      })

      const ofSession = Effect.fnUntraced(function* (
        principal: Principal,
        requestId: RequestId,
        sessionId: SessionId
      ) {
        const projectId = yield* sessions.of(sessionId)
        if (projectId === undefined) return yield* refused({ code: "permission_denied" })
        yield* mayRead(principal, requestId, projectId, sessionId)
        return { principal, requestId, projectId, subject: { sessionId } }
      })

      return StreamAuthority.of({
        admit: Effect.fnUntraced(function* (target, credential, requestId) {
          const url = new URL(target, "http://hub")
          if (url.pathname !== STREAM_PATH) return yield* refused({ code: "not_found" })
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

        lost: Effect.fnUntraced(function* ({ principal, projectId, requestId, subject }) {
          if (!(yield* credentials.lives(principal))) return "signInEnded"
          const resource = "runId" in subject ? subject.runId : subject.sessionId
          return yield* mayRead(principal, requestId, projectId, resource).pipe(
            Effect.as(undefined),
            Effect.catchTag("PermissionDenied", () => Effect.succeed("accessLost" as const))
          )
        })
      })
    })
  )
}

const refused = (refusal: Refusal): Effect.Effect<never, Refusal> => Effect.fail(refusal)

const unfit = (path: string, message: string): Effect.Effect<never, Refusal> =>
  refused({ code: "schema_validation_failed", details: { issues: [{ path, message }] } })
