/**
 * Reads of `/client/runs` that the Edge of the run answers: diff, artifacts and previews. Also the place of a run, with the proof for an action
 * there.
 */
import type { FileDiff } from "@corral/domain/edge-api/Diff"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import { attachmentHeaders } from "@corral/service/http/Attachment"
import { idPosition, pageOf } from "@corral/service/http/Paged"
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { ArtifactContents, type RelayedArtifact } from "../edges/ArtifactContents.ts"
import { EdgeRouter } from "../edges/EdgeRouter.ts"
import { Targets } from "../edges/Targets.ts"
import { HubCredentials } from "../signin/HubCredentials.ts"
import { withErrorObjects } from "./ErrorObjects.ts"
import { type HubRequest, pageAfter, requireRoute } from "./HubRequest.ts"
import { PermissionDenied } from "@corral/domain/errors/Failures"
import type { RunId } from "@corral/domain/identity/Ids"
import { HubAuthority } from "../authority/HubAuthority.ts"
import type { NamedAction } from "../authority/ProjectProof.ts"
import { Runs } from "../run/Runs.ts"

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

export const runContentHandlers = Effect.gen(function* () {
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
