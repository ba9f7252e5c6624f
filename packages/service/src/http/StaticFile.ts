/**
 * A file of the program in memory, as responses serve it: with its media type, a validator, and compressed forms that are created at first use.
 *
 * *Does not:* read a disk. Who finds a file decides what a request can reach.
 */
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { createHash } from "node:crypto"
import { brotliCompressSync, constants, gzipSync } from "node:zlib"
import { type Encoding, encodingOf } from "./CompressedJson.ts"

const QUALITY = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }

/** False for content that is already compressed or too short to gain. */
const isCompressible = (mediaType: string, size: number): boolean =>
  size > 512 && /^text\/|javascript|json|svg|xml|wasm/.test(mediaType)

export class StaticFile {
  readonly mediaType: string
  readonly etag: string
  private readonly content: Buffer<ArrayBuffer>
  private readonly encoded = new Map<Encoding, Buffer<ArrayBuffer>>()

  constructor(mediaType: string, content: Buffer<ArrayBuffer>) {
    this.mediaType = /^text\/|javascript/.test(mediaType) ? `${mediaType}; charset=utf-8` : mediaType
    this.etag = createHash("sha256").update(content).digest("base64url").slice(0, 22)
    this.content = content
  }

  /** The response to a GET or HEAD. */
  respond(
    { headers: sent }: Pick<HttpServerRequest.HttpServerRequest, "headers">,
    headers: Readonly<Record<string, string>>,
    status = 200
  ): HttpServerResponse.HttpServerResponse {
    const varies = isCompressible(this.mediaType, this.content.length)
    const encoding = varies ? encodingOf(sent["accept-encoding"]) : undefined
    const etag = `"${this.etag}${encoding === undefined ? "" : `-${encoding}`}"`
    const validated = { ...headers, etag, ...(varies ? { vary: "accept-encoding" } : {}) }
    if (status === 200 && sent["if-none-match"] === etag)
      return HttpServerResponse.empty({ status: 304, headers: validated })
    return HttpServerResponse.uint8Array(this.bytes(encoding), {
      status,
      contentType: this.mediaType,
      headers: { ...validated, ...(encoding === undefined ? {} : { "content-encoding": encoding }) }
    })
  }

  private bytes(encoding: Encoding | undefined): Buffer<ArrayBuffer> {
    if (encoding === undefined) return this.content
    const cached = this.encoded.get(encoding)
    if (cached !== undefined) return cached
    const compressed = encoding === "br" ? brotliCompressSync(this.content, QUALITY) : gzipSync(this.content)
    this.encoded.set(encoding, compressed)
    return compressed
  }
}
