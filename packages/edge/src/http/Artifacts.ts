/** `GET /v1/runs/{id}/artifacts`, `GET /v1/artifacts/{id}`, `GET /v1/artifacts/{id}/content`. */
import { EdgeApi } from "@corral/domain/EdgeApi"
import type { Artifact } from "@corral/domain/Artifact"
import { withErrorObject } from "@corral/domain/RequestContext"
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Artifacts, type OpenedArtifact } from "../artifact/Artifacts.ts"
import { RunSupervisor } from "../run/RunSupervisor.ts"
import { byteRange } from "./ByteRange.ts"
import { LOCAL } from "./Principal.ts"
import { byId, pageOf } from "@corral/service/http/Paged"

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
          { principal: LOCAL, filter: `artifacts ${id}`, cursor, limit },
          byId,
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

/** Bytes that a runtime made: whoever opens the address in a browser saves them and never runs them with the Edge's origin. */
const contentAnswer = (
  { artifact, bytes }: OpenedArtifact,
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
      "content-disposition": attachment(artifact),
      "content-security-policy": "sandbox; default-src 'none'",
      etag,
      "x-content-type-options": "nosniff",
      ...(range === undefined ? {} : { "content-range": `bytes ${range.start}-${range.end}/${size}` })
    }
  })
}

/** RFC 6266: a plain name for every client, and the whole of it for those that read RFC 8187. */
const attachment = ({ name }: Artifact): string => {
  const plain = name.replaceAll(/[^A-Za-z0-9._ -]/g, "_")
  const whole = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${whole}`
}
