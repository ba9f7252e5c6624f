/** `/client/runs/{id}/changes` and `/client/sessions/{id}/changes`: change sets, and decisions about them. The Edge determines which was first. */
import { DecidedChanges, type UndoChanges } from "@corral/domain/edge-api/ChangeSet"
import type { AuditAction } from "@corral/domain/access/AuditAction"
import type { DecisionOrigin } from "@corral/domain/approval/Approval"
import { PermissionDenied } from "@corral/domain/errors/Failures"
import { decodeCursor, encodeCursor } from "@corral/domain/http/Page"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import type { ChangeSetId, DeviceId, RunId, SessionId, UserId } from "@corral/domain/identity/Ids"
import type { CommandPayload } from "@corral/domain/link/EdgeCommand"
import { idPosition, pageOf } from "@corral/service/http/Paged"
import { markReplayed } from "@corral/service/http/IdempotentRequest"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Audit } from "../audit/Audit.ts"
import { HubAuthority } from "../authority/HubAuthority.ts"
import { ChangeSets } from "../change/ChangeSets.ts"
import { isOutcomeUnknown } from "../edges/CommandRoute.ts"
import { EdgeRouter } from "../edges/EdgeRouter.ts"
import { Targets } from "../edges/Targets.ts"
import { HubIdempotency } from "../HubIdempotency.ts"
import { Runs } from "../run/Runs.ts"
import { decisionOriginOf } from "./Approvals.ts"
import { withErrorObjects } from "./Handlers.ts"
import { type HubRequest, requireRoute } from "./Handlers.ts"
import { completingCommands } from "./Handlers.ts"
import { runPlaces } from "./Runs.ts"

/** Lists of the mirror. */
const listHandlers = Effect.gen(function* () {
  const authority = yield* HubAuthority
  const sets = yield* ChangeSets

  return {
    list: Effect.fnUntraced(function* ({
      query: { cursor, limit, projectId, state }
    }: HubRequest<"changeSets", "list">) {
      const { userId } = yield* CurrentPrincipal
      if (projectId !== undefined) yield* authority.inProject("project.read", projectId)
      return yield* pageOf(
        { filter: `changes ${JSON.stringify([projectId, state])}`, principal: userId, cursor, limit },
        idPosition,
        (before, limit) => sets.list(userId, { projectId, state }, before, limit)
      )
    }, withErrorObjects),

    ofSession: Effect.fnUntraced(function* ({
      params: { id: sessionId },
      query: { changeSetId, cursor, limit, state }
    }: HubRequest<"changeSets", "ofSession">) {
      const { userId } = yield* CurrentPrincipal
      const { projectId } = yield* authority.inSession("project.read", sessionId)
      const filter = { projectId, sessionId, changeSetId, state }
      return yield* pageOf(
        { filter: `changes ${JSON.stringify(filter)}`, principal: userId, cursor, limit },
        idPosition,
        (before, limit) => sets.list(userId, filter, before, limit)
      )
    }, withErrorObjects)
  }
})

/** Pages that the Edge continues by its own position. `read` returns the page after a position. */
const relayedPage = Effect.fnUntraced(function* <A extends { readonly next: string | null }, E, R>(
  filter: string,
  cursor: string | undefined,
  read: (after: { readonly after?: string }) => Effect.Effect<A, E, R>
) {
  const scope = { filter, principal: (yield* CurrentPrincipal).userId }
  const after = cursor === undefined ? {} : { after: yield* Effect.fromResult(decodeCursor(cursor, scope)) }
  const { next, ...page } = yield* read(after)
  return {
    ...page,
    nextCursor: next === null ? null : encodeCursor({ ...scope, position: next }),
    requestId: yield* CurrentRequestId
  }
})

/** Reads that the Edge answers. */
export const changeReadHandlers = Effect.gen(function* () {
  const admitted = yield* runPlaces
  const router = yield* EdgeRouter
  const targets = yield* Targets

  return {
    get: Effect.fnUntraced(function* ({
      params: { id: runId },
      query: { cursor, limit }
    }: HubRequest<"changeSets", "get">) {
      const run = yield* admitted("project.read", runId)
      return yield* relayedPage(`changes of ${runId}`, cursor, (after) =>
        router.readChanges(run.targetId, { runId, limit, ...after }).pipe(requireRoute(targets, run))
      )
    }, withErrorObjects),

    file: Effect.fnUntraced(function* ({
      params: { fileId, id: runId },
      query: { context, cursor, limit }
    }: HubRequest<"changeSets", "file">) {
      const run = yield* admitted("project.read", runId)
      const named = { runId, fileId, ...(context === undefined ? {} : { context }) }
      return yield* relayedPage(`changes ${JSON.stringify(named)}`, cursor, (after) =>
        router.readChangedFile(run.targetId, { ...named, limit, ...after }).pipe(requireRoute(targets, run))
      )
    }, withErrorObjects)
  }
})

type DecisionKind = "accept" | "reject" | "undo"
type DecisionHeaders = HubRequest<"changeSets", "accept">["headers"]

/** What a person decides: parts to accept or reject, or what to undo. */
type DecisionBody =
  | {
      readonly kind: "accept" | "reject"
      readonly request: CommandPayload<"DecideChanges">["request"]
    }
  | { readonly kind: "undo"; readonly request: UndoChanges }

interface Decision {
  readonly runId: RunId
  /** Path of the request, to which an idempotency key is bound. */
  readonly path: string
  readonly headers: DecisionHeaders
  readonly body: DecisionBody
}

const auditedActions = {
  accept: "changes.accept",
  reject: "changes.reject",
  undo: "changes.undo"
} as const satisfies Record<DecisionKind, AuditAction>

/** Decides once per key, under the policy of the project. Each outcome is recorded. */
const makeDecide = Effect.gen(function* () {
  const audit = yield* Audit
  const authority = yield* HubAuthority
  const complete = yield* completingCommands
  const idempotency = yield* HubIdempotency
  const router = yield* EdgeRouter
  const runs = yield* Runs
  const sets = yield* ChangeSets
  const targets = yield* Targets

  const send = (
    targetId: DeviceId,
    runId: RunId,
    body: DecisionBody,
    author: { readonly by: UserId; readonly origin: DecisionOrigin },
    key: string | undefined
  ) =>
    body.kind === "undo"
      ? router.undoChanges(targetId, { runId, request: body.request, ...author }, key)
      : router.decideChanges(targetId, { runId, kind: body.kind, request: body.request, ...author }, key)

  return Effect.fnUntraced(function* ({ body, headers, path, runId }: Decision) {
    const { kind, userId: by } = yield* CurrentPrincipal
    const place = (yield* runs.locate(runId)) ?? (yield* new PermissionDenied())
    const resource = (yield* sets.findSet(runId)) ?? runId
    const action = auditedActions[body.kind]
    yield* authority.overChanges(runId, { action, resource })
    const scope = `${by} POST ${path}`
    const key = headers["idempotency-key"]
    const { request } = body
    const author = { by, origin: decisionOriginOf(kind, headers) }
    const command = key && JSON.stringify([scope, key, request])
    // No transaction is open while the Edge decides.
    const sent = send(place.targetId, runId, body, author, command).pipe(requireRoute(targets, place))
    const write = Effect.flatMap(Effect.exit(sent), (outcome) =>
      audit.perform({ action, resource, projectId: place.projectId }, outcome, ({ decision }) => ({
        resource: decision.changeSetId
      }))
    )
    const once = idempotency.runOnceRemotely(
      { scope, key, request, response: DecidedChanges },
      write,
      isOutcomeUnknown
    )
    const { body: answer, replayed } = yield* complete(once)
    return yield* markReplayed(answer, replayed)
  })
})

/** Decisions of people. */
export const changeDecisionHandlers = Effect.gen(function* () {
  const decide = yield* makeDecide
  const sets = yield* ChangeSets

  const ofRun = (runId: RunId, headers: DecisionHeaders, body: DecisionBody) =>
    decide({ runId, path: `/client/runs/${runId}/changes/${body.kind}`, headers, body })

  const inSession = Effect.fnUntraced(function* (
    id: SessionId,
    changeSetId: ChangeSetId,
    headers: DecisionHeaders,
    body: DecisionBody
  ) {
    const runId = (yield* sets.findRun(id, changeSetId)) ?? (yield* new PermissionDenied())
    const path = `/client/sessions/${id}/changes/${body.kind}?changeSetId=${changeSetId}`
    return yield* decide({ runId, path, headers, body })
  })

  return {
    accept: Effect.fnUntraced(function* ({ headers, params, payload }: HubRequest<"changeSets", "accept">) {
      return yield* ofRun(params.id, headers, { kind: "accept", request: payload })
    }, withErrorObjects),

    reject: Effect.fnUntraced(function* ({ headers, params, payload }: HubRequest<"changeSets", "reject">) {
      return yield* ofRun(params.id, headers, { kind: "reject", request: payload })
    }, withErrorObjects),

    undo: Effect.fnUntraced(function* ({ headers, params, payload }: HubRequest<"changeSets", "undo">) {
      return yield* ofRun(params.id, headers, { kind: "undo", request: payload })
    }, withErrorObjects),

    acceptInSession: Effect.fnUntraced(function* ({
      headers,
      params,
      payload,
      query
    }: HubRequest<"changeSets", "acceptInSession">) {
      return yield* inSession(params.id, query.changeSetId, headers, { kind: "accept", request: payload })
    }, withErrorObjects),

    rejectInSession: Effect.fnUntraced(function* ({
      headers,
      params,
      payload,
      query
    }: HubRequest<"changeSets", "rejectInSession">) {
      return yield* inSession(params.id, query.changeSetId, headers, { kind: "reject", request: payload })
    }, withErrorObjects),

    undoInSession: Effect.fnUntraced(function* ({
      headers,
      params,
      payload,
      query
    }: HubRequest<"changeSets", "undoInSession">) {
      return yield* inSession(params.id, query.changeSetId, headers, { kind: "undo", request: payload })
    }, withErrorObjects)
  }
})

export const changesEndpoints = HttpApiBuilder.group(
  HubApi,
  "changeSets",
  Effect.fnUntraced(function* (handlers) {
    return handlers.handleAll({
      ...(yield* listHandlers),
      ...(yield* changeReadHandlers),
      ...(yield* changeDecisionHandlers)
    })
  })
)
