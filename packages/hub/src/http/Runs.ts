/** `/client/runs`: the mirrored runs and their logs; cancel, input, diff, artifacts and previews go to the Edge. */
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { Conflict, PermissionDenied, RunNotCancellable } from "@corral/domain/errors/Failures"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { FileDiff } from "@corral/domain/edge-api/Diff"
import type { RoleAction } from "@corral/domain/access/Authorization"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import type { RunId } from "@corral/domain/identity/Ids"
import type { Run } from "@corral/domain/run/Run"
import { attachmentHeaders } from "@corral/service/http/Attachment"
import { byId, pageOf } from "@corral/service/http/Paged"
import { replayed } from "@corral/service/http/Replayed"
import { Effect, Fiber } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Approvals } from "../approval/Approvals.ts"
import { Audit } from "../audit/Audit.ts"
import { Authority } from "../authority/Authority.ts"
import { Idempotency } from "../Idempotency.ts"
import { RunFeeds } from "../live/RunFeeds.ts"
import { StreamAuthority } from "../live/StreamAuthority.ts"
import { ArtifactContents, type OpenedArtifact } from "../edges/ArtifactContents.ts"
import { EdgeRouter, isUnknown } from "../edges/EdgeRouter.ts"
import { RunLog } from "../run/RunLog.ts"
import { RunRequesters } from "../run/RunRequesters.ts"
import { isOver, Runs } from "../run/Runs.ts"
import { Targets } from "../edges/Targets.ts"
import { Credentials } from "../signin/Credentials.ts"
import { answered } from "./Answered.ts"
import { requireChatMode } from "./ChatMode.ts"
import { hubRunEvents } from "./RunEvents.ts"
import { pageAfter } from "./PageAfter.ts"
import { routed } from "./Routed.ts"

export const runs = HttpApiBuilder.group(
  HubApi,
  "runs",
  Effect.fnUntraced(function* (handlers) {
    const approvals = yield* Approvals
    const audit = yield* Audit
    const authority = yield* Authority
    const contents = yield* ArtifactContents
    const credentials = yield* Credentials
    const feeds = yield* RunFeeds
    const idempotency = yield* Idempotency
    const log = yield* RunLog
    const requesters = yield* RunRequesters
    const router = yield* EdgeRouter
    const runs = yield* Runs
    const streams = yield* StreamAuthority
    const lasting = yield* Effect.scope
    const targets = yield* Targets

    /** Where a run is, and the proof that the caller may do that with it. */
    const admitted = Effect.fnUntraced(function* <A extends RoleAction>(action: A, id: RunId) {
      const place = (yield* runs.place(id)) ?? (yield* new PermissionDenied())
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
        return yield* hubRunEvents({ feeds, log }, streams, { run, after, limit })
      }, answered),

      cancel: Effect.fnUntraced(function* ({ params: { id } }) {
        const { userId } = yield* CurrentPrincipal
        const run = yield* admitted("run.cancel", id)
        const mirrored = yield* runs.get(run.proof, id)
        const { projectId, state, targetId } = mirrored
        if (state === "cancelled") return mirrored
        const cancelled = isOver(state)
          ? Effect.fail(new RunNotCancellable())
          : router.cancel(targetId, { runId: id, by: userId }).pipe(routed(targets, run))
        const deed = { action: "run.cancel" as const, resource: id, projectId }
        const told = yield* audit.done(deed, yield* Effect.exit(cancelled))
        return toldOf(mirrored, told)
      }, answered),

      input: Effect.fnUntraced(function* ({ headers, params: { id }, payload }) {
        const principal = yield* CurrentPrincipal
        const { userId } = principal
        const { projectId, proof, targetId } = yield* admitted("task.create", id)
        const mirrored = yield* runs.get(proof, id)
        const scope = `${userId} POST /client/runs/${id}/input`
        const key = headers["idempotency-key"]
        const sent = isOver(mirrored.state)
          ? Effect.fail(new Conflict({ message: "The run has ended." }))
          : requesters
              .sending(
                id,
                userId,
                router.input(
                  targetId,
                  { runId: id, input: payload, by: userId },
                  key && JSON.stringify([scope, key, payload])
                ),
                isUnknown
              )
              .pipe(
                routed(targets, mirrored),
                // The run would act on these words in its own mode.
                (sending) => Effect.andThen(requireChatMode(principal, mirrored.mode), sending)
              )
        const deed = { action: "run.input" as const, resource: id, projectId }
        const write = Effect.flatMap(Effect.exit(sent), (outcome) => audit.done(deed, outcome))
        const once = idempotency.onceElsewhere(
          { scope, key, request: payload },
          Effect.map(write, (told) => toldOf(mirrored, told)),
          isUnknown
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
        const diff = yield* router.diff(run.targetId, { runId }).pipe(routed(targets, run))
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
        const artifacts = yield* router.artifacts(run.targetId, { runId }).pipe(routed(targets, run))
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

const contentAnswer = ({ artifact, bytes }: OpenedArtifact): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.stream(bytes, {
    // A device's word, which must not say anything else than a media type.
    contentType: mediaType.test(artifact.mediaType) ? artifact.mediaType : "application/octet-stream",
    contentLength: artifact.size,
    headers: attachmentHeaders(artifact)
  })

const mediaType = /^[a-z0-9][a-z0-9.+-]{0,63}\/[a-z0-9][a-z0-9.+-]{0,63}(; ?charset=[a-z0-9-]{1,32})?$/i
