/** `GET /v1/runs/{id}/artifacts`, `GET /v1/artifacts/{id}`, `GET /v1/artifacts/{id}/content`. */
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import { withErrorObject } from "@corral/domain/http/RequestContext"
import { attachmentHeaders } from "@corral/service/http/Attachment"
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Artifacts, type ReadableArtifact } from "../artifact/Artifacts.ts"
import { RunSupervisor } from "../run/RunSupervisor.ts"
import { byteRange } from "../preview/ByteRange.ts"
import { LOCAL_PRINCIPAL } from "./Principal.ts"
import { idPosition, pageOf } from "@corral/service/http/Paged"

export const artifacts = HttpApiBuilder.group(
  EdgeApi,
  "artifacts",
  Effect.fnUntraced(function* (handlers) {
    const artifacts = yield* Artifacts
    const runs = yield* RunSupervisor
    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ params, query: { cursor, limit } }) {
        const { id } = yield* runs.get(params.id)
        return yield* pageOf(
          { principal: LOCAL_PRINCIPAL, filter: `artifacts ${id}`, cursor, limit },
          idPosition,
          (after, limit) => Effect.sync(() => artifacts.page(id, after, limit))
        )
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
