/**
 * Compression of long JSON in answers to reads (ADR 112). Also the encodings that a request accepts.
 *
 * Guarantees: an answer to a write is never compressed, because it can contain a new secret. The event loop does not wait: the work is done in
 * threads. *Does not:* compress downloads and streams, or answers that have a validator.
 */
import { Effect } from "effect"
import { HttpBody, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { type InputType, brotliCompress, constants, gzip } from "node:zlib"

// Encodings of answers that a request accepts. Pure.

/** Content encoding; absent for identity. */
export type Encoding = "br" | "gzip"

/** Best encoding that a request accepts. Weight 0 excludes an encoding. */
export const encodingOf = (accepted = ""): Encoding | undefined => {
  const weights = new Map(
    accepted.split(",").map((part) => {
      const [name = "", ...parameters] = part.trim().toLowerCase().split(";")
      const weight = parameters.find((parameter) => parameter.trim().startsWith("q="))?.trim()
      return [name.trim(), weight === undefined ? 1 : Number(weight.slice(2))]
    })
  )
  return (["br", "gzip"] as const).find((name) => (weights.get(name) ?? 0) > 0)
}

/** A shorter answer fits into the first packets of a connection as it is. */
const MIN_BYTES = 2_048

type Compress = (bytes: InputType, done: (error: Error | null, result: Buffer<ArrayBuffer>) => void) => void

/** Levels for answers that are made once for one reader. */
const compressions: { readonly [E in Encoding]: Compress } = {
  br: (bytes, done) => brotliCompress(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }, done),
  gzip: (bytes, done) => gzip(bytes, { level: 6 }, done)
}

const compressed = (bytes: Uint8Array, encoding: Encoding): Effect.Effect<Buffer<ArrayBuffer>> =>
  Effect.callback((resume) =>
    compressions[encoding](bytes, (error, result) =>
      resume(error === null ? Effect.succeed(result) : Effect.die(error))
    )
  )

/** The body of a response that is compressed where the request accepts it. */
const compressible = ({
  body,
  headers,
  status
}: HttpServerResponse.HttpServerResponse): HttpBody.Uint8Array | undefined =>
  body._tag === "Uint8Array" &&
  body.body.length >= MIN_BYTES &&
  status === 200 &&
  headers["etag"] === undefined &&
  headers["content-encoding"] === undefined &&
  (headers["content-type"] ?? body.contentType).startsWith("application/json")
    ? body
    : undefined

const respond = Effect.fnUntraced(function* (
  response: HttpServerResponse.HttpServerResponse,
  body: HttpBody.Uint8Array,
  encoding: Encoding | undefined
) {
  const vary = [response.headers["vary"], "accept-encoding"].filter(Boolean).join(", ")
  const varied = HttpServerResponse.setHeader(response, "vary", vary)
  if (encoding === undefined) return varied
  const bytes = HttpBody.uint8Array(yield* compressed(body.body, encoding), body.contentType)
  return HttpServerResponse.setHeader(HttpServerResponse.setBody(varied, bytes), "content-encoding", encoding)
})

/** Middleware of routes. */
export const compressedJson = HttpRouter.middleware(
  Effect.succeed((handler) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers, method }) =>
      method === "GET"
        ? Effect.flatMap(handler, (response) => {
            const body = compressible(response)
            return body === undefined
              ? Effect.succeed(response)
              : respond(response, body, encodingOf(headers["accept-encoding"]))
          })
        : handler
    )
  )
).layer
