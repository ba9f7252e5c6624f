/** `/client/runs`: the mirrored runs and their logs; cancel, input, diff, artifacts and previews go to the Edge. */
import { startAfter } from "@corral/domain/http/EventPosition"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { Conflict, PermissionDenied, RunNotCancellable } from "@corral/domain/errors/Failures"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { FileDiff } from "@corral/domain/edge-api/Diff"
import type { RoleAction } from "@corral/domain/access/Authorization"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import type { RunId } from "@corral/domain/identity/Ids"
import type { Run } from "@corral/domain/run/Run"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { attachmentHeaders } from "@corral/service/http/Attachment"
import { byId, pageOf } from "@corral/service/http/Paged"
import { replayed } from "@corral/service/http/Replayed"
import { Effect, Fiber } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Approvals } from "../approval/Approvals.ts"
import { Audit } from "../audit/Audit.ts"
import { HubAuthority } from "../authority/HubAuthority.ts"
import { HubIdempotency } from "../HubIdempotency.ts"
import { RunFeeds } from "../live/RunFeeds.ts"
import { StreamAuthority } from "../live/StreamAuthority.ts"
import { ArtifactContents, type RelayedArtifact } from "../edges/ArtifactContents.ts"
import { isOutcomeUnknown } from "../edges/CommandRoute.ts"
import { EdgeRouter } from "../edges/EdgeRouter.ts"
import { RunLog } from "../run/RunLog.ts"
import { RunRequesters } from "../run/RunRequesters.ts"
import { isFinalState, Runs } from "../run/Runs.ts"
import { Targets } from "../edges/Targets.ts"
import { Credentials } from "../signin/Credentials.ts"
import { answered } from "./Answered.ts"
import { requireChatMode } from "./ChatMode.ts"
import { eventPage } from "./EventPage.ts"
import { pageAfter } from "./PageAfter.ts"
import { requireKept } from "./ReplayGap.ts"
import { routed } from "./Routed.ts"
import { asksForEvents, serverSentEvents } from "./ServerSentEvents.ts"

export const runs = HttpApiBuilder.group(
  HubApi,
  "runs",
  Effect.fnUntraced(function* (handlers) {
    const approvals = yield* Approvals
    const audit = yield* Audit
    const authority = yield* HubAuthority
    const contents = yield* ArtifactContents
    const credentials = yield* Credentials
    const feeds = yield* RunFeeds
    const idempotency = yield* HubIdempotency
    const log = yield* RunLog
    const requesters = yield* RunRequesters
    const router = yield* EdgeRouter
    const runs = yield* Runs
    const streams = yield* StreamAuthority
    const lasting = yield* Effect.scope
    const targets = yield* Targets

    /** Where a run is, and the proof that the caller may do that with it. */
    const admitted = Effect.fnUntraced(function* <A extends RoleAction>(action: A, id: RunId) {
      const place = (yield* runs.locate(id)) ?? (yield* new PermissionDenied())
      return { id, ...place, proof: yield* authority.inProject(action, place.projectId, id) }
    })

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({
        query: { cursor, limit, projectId, sessionId, state, targetId }
      }) {
        const { userId } = yield* CurrentPrincipal
        if (projectId !== undefined) yield* authority.inProject("project.read", projectId)
        const filter = { projectId, sessionId, targetId, state }
        return yield* pageOf(
          {
            filter: `runs ${JSON.stringify([projectId, sessionId, targetId, state])}`,
            principal: userId,
            cursor,
            limit
          },
          byId,
          (before, limit) => runs.list(userId, filter, before, limit)
        )
      }, answered),

      get: Effect.fnUntraced(function* ({ params }) {
        const { proof } = yield* admitted("project.read", params.id)
        return yield* runs.get(proof, params.id)
      }, answered),

      events: Effect.fnUntraced(function* ({ params, query: { after, limit } }) {
        const run = yield* admitted("project.read", params.id)
        const requestId = yield* CurrentRequestId
        const request = yield* HttpServerRequest.HttpServerRequest
        const isStream = asksForEvents(request)
        const resumed = isStream ? request.headers["last-event-id"] : undefined
        const start = startAfter(after, resumed, run.lastSeq)
        if (typeof start !== "number") return yield* start
        if (!isStream) return yield* eventPage(log, run, start, limit, requestId)
        yield* requireKept(yield* log.read(run.id, start, 1), start, run.lastSeq)
        const principal = yield* CurrentPrincipal
        const over = start === run.lastSeq && isFinalState(run.state)
        const { id: runId, projectId } = run
        const subject = { runId, after: start, over }
        return serverSentEvents(
          { authority: streams, feeds, log },
          { principal, projectId, requestId, subject }
        )
      }, answered),

      cancel: Effect.fnUntraced(function* ({ params: { id } }) {
        const { userId } = yield* CurrentPrincipal
        const run = yield* admitted("run.cancel", id)
        const mirrored = yield* runs.get(run.proof, id)
        const { projectId, state, targetId } = mirrored
        if (state === "cancelled") return mirrored
        const cancelled = isFinalState(state)
          ? Effect.fail(new RunNotCancellable())
          : router.cancel(targetId, { runId: id, by: userId }).pipe(routed(targets, run))
        const deed = { action: "run.cancel" as const, resource: id, projectId }
        const told = yield* audit.perform(deed, yield* Effect.exit(cancelled))
        return toldOf(mirrored, told)
      }, answered),

      input: Effect.fnUntraced(function* ({ headers, params: { id }, payload }) {
        const principal = yield* CurrentPrincipal
        const { userId } = principal
        const { projectId, proof, targetId } = yield* admitted("task.create", id)
        const mirrored = yield* runs.get(proof, id)
        const scope = `${userId} POST /client/runs/${id}/input`
        const key = headers["idempotency-key"]
        const sent = isFinalState(mirrored.state)
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
                routed(targets, mirrored),
                // The run would act on these words in its own mode.
                (sending) => Effect.andThen(requireChatMode(principal, mirrored.mode), sending)
              )
        const deed = { action: "run.input" as const, resource: id, projectId }
        const write = Effect.flatMap(Effect.exit(sent), (outcome) => audit.perform(deed, outcome))
        const once = idempotency.runOnceRemotely(
          { scope, key, request: payload },
          Effect.map(write, (told) => toldOf(mirrored, told)),
          isOutcomeUnknown
        )
        // It goes on where whoever asked has left: what was sent is to be known, and written down.
        const { body, replayed: again } = yield* Fiber.join(yield* Effect.forkIn(once, lasting))
        return yield* replayed(body, again)
      }, answered),

      approvals: Effect.fnUntraced(function* ({ params: { id: runId }, query: { cursor, limit } }) {
        const { userId } = yield* CurrentPrincipal
        const { projectId } = yield* admitted("project.read", runId)
        return yield* pageOf(
          { filter: `approvals of ${runId}`, principal: userId, cursor, limit },
          byId,
          (after, limit) => approvals.list(userId, { projectId, runId }, after, limit)
        )
      }, answered),

      diff: Effect.fnUntraced(function* ({ params: { id: runId }, query: { cursor, limit } }) {
        const { userId } = yield* CurrentPrincipal
        const run = yield* admitted("project.read", runId)
        const diff = yield* router.readDiff(run.targetId, { runId }).pipe(routed(targets, run))
        const page = yield* pageOf(
          { filter: `diff of ${runId}`, principal: userId, cursor, limit },
          byPath,
          (after, limit) => Effect.succeed(pageAfter(diff.items, byPath, after, limit))
        )
        return { ...diff, ...page }
      }, answered),

      artifacts: Effect.fnUntraced(function* ({ params: { id: runId }, query: { cursor, limit } }) {
        const { userId } = yield* CurrentPrincipal
        const run = yield* admitted("project.read", runId)
        const artifacts = yield* router.listArtifacts(run.targetId, { runId }).pipe(routed(targets, run))
        return yield* pageOf(
          { filter: `artifacts of ${runId}`, principal: userId, cursor, limit },
          byId,
          (after, limit) => Effect.succeed(pageAfter(artifacts, byId, after, limit))
        )
      }, answered),

      artifactContent: Effect.fnUntraced(function* ({ params: { artifactId, id } }) {
        const principal = yield* CurrentPrincipal
        const run = yield* admitted("project.read", id)
        const opened = contents.open(run, artifactId, credentials.lives(principal))
        return contentAnswer(yield* opened.pipe(routed(targets, run)))
      }, answered),

      openPreview: Effect.fnUntraced(function* ({ params: { id: runId, previewId } }) {
        // It lets whoever sits at the device talk to what runs there: more than reading.
        const run = yield* admitted("task.create", runId)
        return yield* router.openPreview(run.targetId, { runId, previewId }).pipe(routed(targets, run))
      }, answered)
    })
  })
)

const byPath = ({ path }: FileDiff): string => path

/** What the Edge said of a run, as the Hub has it. The Edge is ahead of the mirror: whoever follows goes on from what is here. */
const toldOf = ({ id, lastSeq, projectId, targetId, taskId }: HubRun, told: Run): HubRun => ({
  ...told,
  id,
  projectId,
  targetId,
  lastSeq,
  ...(taskId === undefined ? {} : { taskId })
})

const contentAnswer = ({ artifact, bytes }: RelayedArtifact): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.stream(bytes, {
    // A device's word, which must not say anything else than a media type.
    contentType: mediaType.test(artifact.mediaType) ? artifact.mediaType : "application/octet-stream",
    contentLength: artifact.size,
    headers: attachmentHeaders(artifact)
  })

const mediaType = /^[a-z0-9][a-z0-9.+-]{0,63}\/[a-z0-9][a-z0-9.+-]{0,63}(; ?charset=[a-z0-9-]{1,32})?$/i
