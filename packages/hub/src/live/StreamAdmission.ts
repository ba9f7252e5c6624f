/** Admission of event streams: finds the run or session that a request asks to follow, and checks that the caller may read it. */
import { beyondEnd } from "@corral/domain/http/EventPosition"
import { decodeHubStreamQuery } from "@corral/domain/http/EventStream"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { CurrentPrincipal, type Principal } from "@corral/domain/hub-api/SessionAuthority"
import type { ProjectId, RequestId, RunId, SessionId } from "@corral/domain/identity/Ids"
import type { ValidationIssue } from "@corral/domain/errors/ErrorTable"
import { issuesOf } from "@corral/domain/errors/ValidationIssues"
import { isTerminal } from "@corral/domain/run/RunEnd"
import type { HttpRefusal } from "@corral/service/http/Refusal"
import { Effect, Result } from "effect"
import { HubAuthority } from "../authority/HubAuthority.ts"
import { Runs } from "../run/Runs.ts"
import { SessionProject } from "../run/SessionProject.ts"
import { type Credential, HubCredentials } from "../signin/HubCredentials.ts"

export const HUB_STREAM_PATH = "/client/events"
const STREAM = { method: "GET", path: HUB_STREAM_PATH, keyScope: "read" } as const

/** Request that asks for a stream. */
interface Caller {
  readonly principal: Principal
  readonly requestId: RequestId
}

/** `admit` finds what a target asks to follow, and fails when the caller may not follow it. `requireRead` checks a project. */
export const makeStreamAdmission = Effect.gen(function* () {
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

  const admit = Effect.fn("StreamAdmission.admit")(function* (
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
