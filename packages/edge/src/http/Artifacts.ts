/** `GET` and `POST /v1/runs/{id}/artifacts`, `GET /v1/artifacts/{id}`, `GET /v1/artifacts/{id}/content`. */
import type { Artifact } from "@corral/domain/run/Artifact"
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import { withErrorObject } from "@corral/domain/http/RequestContext"
import { attachmentHeaders } from "@corral/service/http/Attachment"
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import { markReplayed } from "@corral/service/http/IdempotentRequest"
import { Artifacts, type ReadableArtifact } from "../artifact/Artifacts.ts"
import { storeFile } from "../attachment/ProgramArtifacts.ts"
import { EdgeIdempotency, type ResultRows } from "../log/EdgeIdempotency.ts"
import { withRunFolder, diffFolder } from "../layer/LayerReads.ts"
import { Layers } from "../layer/Layers.ts"
import { RunSupervisor } from "../run/RunSupervisor.ts"
import { openInside, openInView } from "../workspace/WorkspaceFiles.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import { Worktrees } from "../workspace/Worktrees.ts"
import { byteRange } from "../preview/ByteRange.ts"
import { LOCAL_PRINCIPAL } from "./EdgeRequestPolicy.ts"
import { idPosition, pageOf } from "@corral/service/http/Paged"

export const artifacts = HttpApiBuilder.group(
  EdgeApi,
  "artifacts",
  Effect.fnUntraced(function* (handlers) {
    const artifacts = yield* Artifacts
    const runs = yield* RunSupervisor
    const idempotency = yield* EdgeIdempotency
    const layers = yield* Layers
    const workspaces = yield* Workspaces
    const worktrees = yield* Worktrees
    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ params, query: { cursor, limit } }) {
        const { id } = yield* runs.get(params.id)
        return yield* pageOf(
          { principal: LOCAL_PRINCIPAL, filter: `artifacts ${id}`, cursor, limit },
          idPosition,
          (after, limit) => Effect.sync(() => artifacts.page(id, after, limit))
        )
      }, withErrorObject),

      publish: Effect.fnUntraced(function* ({ headers, params, payload }) {
        const { id } = params
        const request = {
          scope: `${LOCAL_PRINCIPAL} POST /v1/runs/${id}/artifacts`,
          key: headers["idempotency-key"],
          request: payload
        }
        const { body, replayed: again } = yield* idempotency.once(request, (keep: ResultRows<Artifact>) =>
          Effect.gen(function* () {
            const run = yield* runs.get(id)
            const root = yield* diffFolder({ workspaces, worktrees }, run)
            const stored = yield* withRunFolder(layers, run, root, (folder) =>
              storeFile(artifacts, id, folder, payload, run.layer === undefined ? openInside : openInView)
            )
            yield* runs.publish(id, stored, keep)
            return stored.artifact
          })
        )
        const location = `/v1/artifacts/${body.id}`
        return yield* markReplayed(HttpApiSchema.withHeaders({ body, headers: { location } }), again)
      }, withErrorObject),

      get: ({ params }) => withErrorObject(artifacts.get(params.id)),

      content: Effect.fnUntraced(function* ({ params }) {
        const opened = yield* artifacts.open(params.id)
        const { headers } = yield* HttpServerRequest.HttpServerRequest
        return contentAnswer(opened, headers)
      }, withErrorObject)
    })
  })
)

const contentAnswer = (
  { artifact, bytes }: ReadableArtifact,
  headers: HttpServerRequest.HttpServerRequest["headers"]
): HttpServerResponse.HttpServerResponse => {
  const { mediaType, sha256, size } = artifact
  const etag = `"${sha256}"`
  const ifRange = headers["if-range"]
  const range = ifRange === undefined || ifRange === etag ? byteRange(headers["range"], size) : undefined
  return HttpServerResponse.stream(bytes(range), {
    status: range === undefined ? 200 : 206,
    contentType: mediaType,
    contentLength: range === undefined ? size : range.end - range.start + 1,
    headers: {
      "accept-ranges": "bytes",
      ...attachmentHeaders(artifact),
      ...(range === undefined ? {} : { "content-range": `bytes ${range.start}-${range.end}/${size}` })
    }
  })
}
