/** `/client/runs`: the mirrored runs and their logs; cancel, pause, resume, finish, input, diff, artifacts and previews go to the Edge. */
import type { NamedAction } from "../authority/ProjectProof.ts"
import type { FileDiff } from "@corral/domain/edge-api/Diff"
import { Conflict, PermissionDenied, RunNotCancellable } from "@corral/domain/errors/Failures"
import { startAfter } from "@corral/domain/http/EventStream"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { HubRun, type HubRunStatus } from "@corral/domain/hub-api/HubRun"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import type { ProjectId, RunId } from "@corral/domain/identity/Ids"
import type { Run } from "@corral/domain/run/Run"
import { isTerminal } from "@corral/domain/run/RunEnd"
import { finishRefusal } from "@corral/domain/run/RunRefusals"
import { pauseRefusal } from "@corral/domain/run/RunRefusals"
import { attachmentHeaders } from "@corral/service/http/Attachment"
import { idPosition, pageOf } from "@corral/service/http/Paged"
import { markReplayed } from "@corral/service/http/IdempotentRequest"
import { gapToConflict, eventPage } from "@corral/service/stream/LogSource"
import {
  acceptsEventStream,
  eventStreamResponse,
  serverSentEvents
} from "@corral/service/stream/ServerSentEvents"
import { Deferred, Effect, Exit, Stream } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Approvals } from "../run/RunRequests.ts"
import { Audit, type AuditedAction } from "../audit/Audit.ts"
import { HubAuthority, requireChatMode } from "../authority/HubAuthority.ts"
import { ArtifactContents, type RelayedArtifact } from "../edges/ArtifactContents.ts"
import { isOutcomeUnknown } from "../edges/CommandRoute.ts"
import { EdgeRouter } from "../edges/EdgeRouter.ts"
import { Targets } from "../edges/Targets.ts"
import { HubIdempotency } from "../HubIdempotency.ts"
import { RunFeeds } from "../live/RunFeeds.ts"
import { type HubLogs, hubRunSource, type HubSubscription, StreamAuthority } from "../live/StreamAuthority.ts"
import { RunLog } from "../run/RunLog.ts"
import { RunRequesters } from "../run/RunRequesters.ts"
import { Runs } from "../run/Runs.ts"
import { HubCredentials } from "../signin/HubCredentials.ts"
import { completingCommands, type HubRequest, pageAfter, requireRoute, withErrorObjects } from "./Handlers.ts"

// Place of the run of a request, and the proof that the caller may take the action there.

/** Finds the place of a run. A run that the caller may not see is indistinguishable from one that does not exist. */
export const runPlaces = Effect.gen(function* () {
  const authority = yield* HubAuthority
  const runs = yield* Runs
  return Effect.fnUntraced(function* <A extends NamedAction>(action: A, id: RunId) {
    const place = (yield* runs.locate(id)) ?? (yield* new PermissionDenied())
    return { id, ...place, proof: yield* authority.inProject(action, place.projectId, id) }
  })
})

const byPath = ({ path }: FileDiff): string => path

const mediaType = /^[a-z0-9][a-z0-9.+-]{0,63}\/[a-z0-9][a-z0-9.+-]{0,63}(; ?charset=[a-z0-9-]{1,32})?$/i

const contentResponse = ({ artifact, bytes }: RelayedArtifact): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.stream(bytes, {
    // Reported by a device: only a media type may reach the header.
    contentType: mediaType.test(artifact.mediaType) ? artifact.mediaType : "application/octet-stream",
    contentLength: artifact.size,
    headers: attachmentHeaders(artifact)
  })

const runContentHandlers = Effect.gen(function* () {
  const admitted = yield* runPlaces
  const contents = yield* ArtifactContents
  const credentials = yield* HubCredentials
  const router = yield* EdgeRouter
  const targets = yield* Targets

  return {
    diff: Effect.fnUntraced(function* ({
      params: { id: runId },
      query: { cursor, limit }
    }: HubRequest<"runs", "diff">) {
      const { userId } = yield* CurrentPrincipal
      const run = yield* admitted("project.read", runId)
      const diff = yield* router.readDiff(run.targetId, { runId }).pipe(requireRoute(targets, run))
      const page = yield* pageOf(
        { filter: `diff of ${runId}`, principal: userId, cursor, limit },
        byPath,
        (after, limit) => Effect.succeed(pageAfter(diff.items, byPath, after, limit))
      )
      return { ...diff, ...page }
    }, withErrorObjects),

    artifacts: Effect.fnUntraced(function* ({
      params: { id: runId },
      query: { cursor, limit }
    }: HubRequest<"runs", "artifacts">) {
      const { userId } = yield* CurrentPrincipal
      const run = yield* admitted("project.read", runId)
      const artifacts = yield* router.listArtifacts(run.targetId, { runId }).pipe(requireRoute(targets, run))
      return yield* pageOf(
        { filter: `artifacts of ${runId}`, principal: userId, cursor, limit },
        idPosition,
        (after, limit) => Effect.succeed(pageAfter(artifacts, idPosition, after, limit))
      )
    }, withErrorObjects),

    artifactContent: Effect.fnUntraced(function* ({
      params: { artifactId, id }
    }: HubRequest<"runs", "artifactContent">) {
      const principal = yield* CurrentPrincipal
      const run = yield* admitted("project.read", id)
      const opened = contents.open(run, artifactId, credentials.isValid(principal))
      return contentResponse(yield* opened.pipe(requireRoute(targets, run)))
    }, withErrorObjects),

    openPreview: Effect.fnUntraced(function* ({
      params: { id: runId, previewId }
    }: HubRequest<"runs", "openPreview">) {
      // A preview reaches a program on the device: more than reading.
      const run = yield* admitted("task.create", runId)
      return yield* router.openPreview(run.targetId, { runId, previewId }).pipe(requireRoute(targets, run))
    }, withErrorObjects)
  }
})

/** Reads of the mirror. */
const mirrorHandlers = Effect.gen(function* () {
  const admitted = yield* runPlaces
  const approvals = yield* Approvals
  const authority = yield* HubAuthority
  const feeds = yield* RunFeeds
  const log = yield* RunLog
  const runs = yield* Runs
  const streams = yield* StreamAuthority

  return {
    list: Effect.fnUntraced(function* ({
      query: { cursor, limit, projectId, replaced, sessionId, state, targetId }
    }: HubRequest<"runs", "list">) {
      const { userId } = yield* CurrentPrincipal
      if (projectId !== undefined) yield* authority.inProject("project.read", projectId)
      const filter = { projectId, sessionId, targetId, state, replaced: replaced === "true" }
      return yield* pageOf(
        {
          filter: `runs ${JSON.stringify([projectId, sessionId, targetId, state, replaced])}`,
          principal: userId,
          cursor,
          limit
        },
        idPosition,
        (before, limit) => runs.list(userId, filter, before, limit)
      )
    }, withErrorObjects),

    get: Effect.fnUntraced(function* ({ params }: HubRequest<"runs", "get">) {
      const { proof } = yield* admitted("project.read", params.id)
      return yield* runs.get(proof, params.id)
    }, withErrorObjects),

    events: Effect.fnUntraced(function* ({ params, query: { after, limit } }: HubRequest<"runs", "events">) {
      const run = yield* admitted("project.read", params.id)
      return yield* hubRunEvents({ feeds, log }, streams, { run, after, limit })
    }, withErrorObjects),

    approvals: Effect.fnUntraced(function* ({
      params: { id: runId },
      query: { cursor, limit }
    }: HubRequest<"runs", "approvals">) {
      const { userId } = yield* CurrentPrincipal
      const { projectId } = yield* admitted("project.read", runId)
      return yield* pageOf(
        { filter: `approvals of ${runId}`, principal: userId, cursor, limit },
        idPosition,
        (after, limit) => approvals.list(userId, { projectId, runId }, after, limit)
      )
    }, withErrorObjects)
  }
})

/** Sends a command to an Edge, and records its outcome in the audit log. */
export const performCommand = Effect.gen(function* () {
  const audit = yield* Audit
  const complete = yield* completingCommands
  return <A, E, R>(action: AuditedAction, command: Effect.Effect<A, E, R>) =>
    complete(Effect.flatMap(Effect.exit(command), (outcome) => audit.perform(action, outcome)))
})

/** Commands that end a run. */
export const runEndHandlers = Effect.gen(function* () {
  const admitted = yield* runPlaces
  const perform = yield* performCommand
  const router = yield* EdgeRouter
  const runs = yield* Runs
  const targets = yield* Targets

  return {
    finish: Effect.fnUntraced(function* ({ params: { id } }: HubRequest<"runs", "finish">) {
      const { userId } = yield* CurrentPrincipal
      const run = yield* admitted("run.finish", id)
      const mirrored = yield* runs.get(run.proof, id)
      const { projectId, state, targetId } = mirrored
      if (state === "completed") return mirrored
      const finished = isTerminal(state)
        ? Effect.fail(finishRefusal("ended"))
        : router.finish(targetId, { runId: id, by: userId }).pipe(requireRoute(targets, run))
      const auditedAction = { action: "run.finish" as const, resource: id, projectId }
      return reportedRun(mirrored, yield* perform(auditedAction, finished))
    }, withErrorObjects),

    /** `reason`: not of a request over HTTP. */
    cancel: Effect.fnUntraced(function* ({
      params: { id },
      reason
    }: HubRequest<"runs", "cancel"> & { readonly reason?: string }) {
      const { userId } = yield* CurrentPrincipal
      const run = yield* admitted("run.cancel", id)
      const mirrored = yield* runs.get(run.proof, id)
      const { projectId, state, targetId } = mirrored
      if (state === "cancelled") return mirrored
      const cancelled = isTerminal(state)
        ? Effect.fail(new RunNotCancellable())
        : router
            .cancel(targetId, { runId: id, by: userId, ...(reason === undefined ? {} : { reason }) })
            .pipe(requireRoute(targets, run))
      const auditedAction = { action: "run.cancel" as const, resource: id, projectId }
      return reportedRun(mirrored, yield* perform(auditedAction, cancelled))
    }, withErrorObjects)
  }
})

/** Other commands to the Edge of a run. */
const commandHandlers = Effect.gen(function* () {
  const admitted = yield* runPlaces
  const audit = yield* Audit
  const idempotency = yield* HubIdempotency
  const complete = yield* completingCommands
  const perform = yield* performCommand
  const requesters = yield* RunRequesters
  const router = yield* EdgeRouter
  const runs = yield* Runs
  const targets = yield* Targets

  const pauseHandler = (action: "run.pause" | "run.resume", command: "PauseRun" | "ResumeRun") =>
    Effect.fnUntraced(function* ({ params: { id } }: { readonly params: { readonly id: RunId } }) {
      const { userId } = yield* CurrentPrincipal
      const run = yield* admitted(action, id)
      const mirrored = yield* runs.get(run.proof, id)
      const { projectId, state, targetId } = mirrored
      const changed = isTerminal(state)
        ? Effect.fail(pauseRefusal("ended"))
        : router.changePause(targetId, command, { runId: id, by: userId }).pipe(requireRoute(targets, run))
      const auditedAction = { action, resource: id, projectId }
      return reportedRun(mirrored, yield* perform(auditedAction, changed))
    }, withErrorObjects)

  return {
    pause: pauseHandler("run.pause", "PauseRun"),

    resume: pauseHandler("run.resume", "ResumeRun"),

    input: Effect.fnUntraced(function* ({ headers, params: { id }, payload }: HubRequest<"runs", "input">) {
      const principal = yield* CurrentPrincipal
      const { userId } = principal
      const { projectId, proof, targetId } = yield* admitted("task.create", id)
      const mirrored = yield* runs.get(proof, id)
      const scope = `${userId} POST /client/runs/${id}/input`
      const key = headers["idempotency-key"]
      const sent = isTerminal(mirrored.state)
        ? Effect.fail(new Conflict({ message: "The run has ended." }))
        : requesters
            .sendAs(
              id,
              userId,
              router.sendInput(
                targetId,
                { runId: id, input: payload, by: userId },
                key && JSON.stringify([scope, key, payload])
              ),
              isOutcomeUnknown
            )
            .pipe(
              requireRoute(targets, mirrored),
              // The run acts on the input in its own mode.
              (sending) => Effect.andThen(requireChatMode(principal, mirrored.mode), sending)
            )
      const auditedAction = { action: "run.input" as const, resource: id, projectId }
      const write = Effect.flatMap(Effect.exit(sent), (outcome) => audit.perform(auditedAction, outcome))
      const once = idempotency.runOnceRemotely(
        { scope, key, request: payload, response: HubRun },
        Effect.map(write, (run) => reportedRun(mirrored, run)),
        isOutcomeUnknown
      )
      const { body, replayed: again } = yield* complete(once)
      return yield* markReplayed(body, again)
    }, withErrorObjects)
  }
})

export const runEndpoints = HttpApiBuilder.group(
  HubApi,
  "runs",
  Effect.fnUntraced(function* (handlers) {
    return handlers.handleAll({
      ...(yield* mirrorHandlers),
      ...(yield* runEndHandlers),
      ...(yield* commandHandlers),
      ...(yield* runContentHandlers)
    })
  })
)

/** The run as the Edge reports it, with the position of the mirror: the Edge is ahead, and followers continue from here. */
const reportedRun = ({ id, lastSeq, projectId, targetId, taskId }: HubRun, run: Run): HubRun => ({
  ...run,
  id,
  projectId,
  targetId,
  lastSeq,
  ...(taskId === undefined ? {} : { taskId })
})

/** `GET /client/runs/{id}/events`: the mirror of a run's log as a JSON page or as `text/event-stream`. */
interface HubRunEvents {
  readonly run: {
    readonly id: RunId
    readonly projectId: ProjectId
    readonly lastSeq: number
    readonly state: HubRunStatus
  }
  readonly after: number | undefined
  readonly limit: number
}

/** Fails when the position is beyond the log, or when retention has dropped what follows it. The caller has authorized the read. */
const hubRunEvents = Effect.fn("Runs.hubRunEvents")(function* (
  logs: HubLogs,
  authority: StreamAuthority["Service"],
  { after, limit, run }: HubRunEvents
) {
  const { id: runId, lastSeq, projectId, state } = run
  const requestId = yield* CurrentRequestId
  const request = yield* HttpServerRequest.HttpServerRequest
  const isStream = acceptsEventStream(request)
  const start = startAfter(after, isStream ? request.headers["last-event-id"] : undefined, lastSeq)
  if (typeof start !== "number") return yield* start
  const source = hubRunSource(logs, runId)
  if (!isStream) {
    const page = eventPage(source, { after: start, limit, lastSeq, requestId })
    return yield* gapToConflict(lastSeq)(page)
  }
  const subject = { runId, after: start, isOver: start === lastSeq && isTerminal(state) }
  const events = yield* gapToConflict(lastSeq)(serverSentEvents(source, subject))
  const principal = yield* CurrentPrincipal
  return eventStreamResponse(whileAuthorized(authority, { principal, projectId, requestId, subject }, events))
})

/** Ends the stream when its reader loses access. */
const whileAuthorized = <E>(
  authority: StreamAuthority["Service"],
  subscription: HubSubscription,
  events: Stream.Stream<string, E>
): Stream.Stream<string, E> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const lost = yield* Deferred.make<void>()
      const unwatch = authority.watch(subscription, () => Deferred.doneUnsafe(lost, Exit.void))
      yield* Effect.addFinalizer(() => Effect.sync(unwatch))
      return Stream.interruptWhen(events, Deferred.await(lost))
    })
  )
