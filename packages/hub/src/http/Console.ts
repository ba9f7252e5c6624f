/**
 * Console at every path outside the APIs: its files by name, and its page for every navigation. The page's script selects the view. If the console is
 * not installed or was not built, a plain page says so. The console's addresses are those of a Hub at the root of its origin, so a Hub below a path
 * has the plain page, too. Its files are read once into memory.
 */
import { type Encoding, encodingOf } from "@corral/service/http/CompressedJson"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { cookieScopeOf } from "./SessionCookies.ts"
import { PublicUrl } from "./PublicUrl.ts"
import { lookup } from "mrmime"
import { createHash } from "node:crypto"
import { existsSync, readFileSync, readdirSync } from "node:fs"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { brotliCompressSync, constants, gzipSync } from "node:zlib"

// Files of the built console, read once into memory. Compressed forms are created at first use.
//
// Guarantees: a path is looked up in memory, never on disk, so a request cannot reach another file.

const QUALITY = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }

/** False for content that is already compressed or too short to gain. */
const isCompressible = (mediaType: string, size: number): boolean =>
  size > 512 && /^text\/|javascript|json|svg|xml|wasm/.test(mediaType)

export class ConsoleFile {
  readonly mediaType: string
  readonly etag: string
  private readonly content: Buffer<ArrayBuffer>
  private readonly encoded = new Map<Encoding, Buffer<ArrayBuffer>>()

  constructor(name: string, content: Buffer<ArrayBuffer>) {
    const mediaType = lookup(name) ?? "application/octet-stream"
    this.mediaType = /^text\/|javascript/.test(mediaType) ? `${mediaType}; charset=utf-8` : mediaType
    this.etag = createHash("sha256").update(content).digest("base64url").slice(0, 22)
    this.content = content
  }

  get isCompressible(): boolean {
    return isCompressible(this.mediaType, this.content.length)
  }

  /** Content in an encoding. */
  bytes(encoding: Encoding | undefined): Buffer<ArrayBuffer> {
    if (encoding === undefined) return this.content
    const cached = this.encoded.get(encoding)
    if (cached !== undefined) return cached
    const compressed = encoding === "br" ? brotliCompressSync(this.content, QUALITY) : gzipSync(this.content)
    this.encoded.set(encoding, compressed)
    return compressed
  }
}

/** Files by URL path: `/index.html`, `/assets/main-4f2c.js`. */
export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>

/** Every file of a folder; none if the folder does not exist. */
export const readConsole = (folder: string | undefined): ConsoleFiles => {
  const files = new Map<string, ConsoleFile>()
  if (folder === undefined) return files
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = path.join(entry.parentPath, entry.name)
    const address = `/${path.relative(folder, file).split(path.sep).join("/")}`
    files.set(address, new ConsoleFile(entry.name, readFileSync(file)))
  }
  return files
}

/** Next to the bundle of a Hub or of the command, in the package, and in the build output for a Hub that runs from source. */
const places = ["console", "../hub/console", "../../console", "../../../../dist/hub/console"]

/** Folder of the console, if it was built. */
export const consoleFolder = (): string | undefined =>
  places
    .map((place) => fileURLToPath(new URL(place, import.meta.url)))
    .find((folder) => existsSync(path.join(folder, "index.html")))

/**
 * Content policy of the console: its own files and requests to its Hub; no inline script or style, no other origins. `blob:` images are previews of
 * files that the user attaches; images and recordings of tool results are shown in the same way.
 */
const consolePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' blob:",
  "media-src 'self' blob:",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join("; ")

const standing = {
  "content-security-policy": consolePolicy,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer"
}

/** First segments of paths that the console never has. */
const reserved = /^\/(api|assets|client|device|edge|health|integrations|link|web)(\/|$)/

const absent = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Corral</title>
<h1>Corral</h1>
<p>This Hub serves its API, without a console. The console is part of the package <code>corral</code> and of a built repository.</p>
</html>
`

type Request = HttpServerRequest.HttpServerRequest

/** Names under `/assets` change with the content. */
const cachingOf = (path: string): string =>
  path === "/index.html"
    ? "no-store"
    : path.startsWith("/assets/")
      ? "public, max-age=31536000, immutable"
      : "no-cache"

const respond = (path: string, file: ConsoleFile, { headers }: Request) => {
  const encoding = file.isCompressible ? encodingOf(headers["accept-encoding"]) : undefined
  const etag = `"${file.etag}${encoding === undefined ? "" : `-${encoding}`}"`
  const responseHeaders = {
    ...standing,
    "cache-control": cachingOf(path),
    etag,
    ...(file.isCompressible ? { vary: "accept-encoding" } : {})
  }
  if (headers["if-none-match"] === etag)
    return HttpServerResponse.empty({ status: 304, headers: responseHeaders })
  return HttpServerResponse.uint8Array(file.bytes(encoding), {
    contentType: file.mediaType,
    headers: { ...responseHeaders, ...(encoding === undefined ? {} : { "content-encoding": encoding }) }
  })
}

const notBuilt = HttpServerResponse.text(absent, {
  contentType: "text/html; charset=utf-8",
  headers: { ...standing, "cache-control": "no-store" }
})

/** Whether a browser navigates: it accepts a page. */
const isNavigation = ({ headers }: Request, path: string): boolean =>
  path === "/" || /(^|,)\s*text\/html\s*(;|,|$)/i.test(headers.accept ?? "")

/** Response to a GET or HEAD that no other route serves; `undefined` if the console has none. */
const consoleAnswer = (
  files: ConsoleFiles,
  request: Request
): HttpServerResponse.HttpServerResponse | undefined => {
  const path = request.url.split("?", 1)[0] ?? ""
  const file = files.get(path)
  if (file !== undefined) return respond(path, file, request)
  if (reserved.test(path) || !isNavigation(request, path)) return undefined
  const index = files.get("/index.html")
  return index === undefined ? notBuilt : respond("/index.html", index, request)
}

export const consolePages = Layer.unwrap(
  Effect.map(PublicUrl, (publicUrl) => {
    const { prefix } = cookieScopeOf(publicUrl)
    const files = readConsole(prefix === "" ? consoleFolder() : undefined)
    return HttpRouter.add(
      "GET",
      "/*",
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const answer = consoleAnswer(files, request)
        if (answer !== undefined) return answer
        // Like a missing route: the same 404, and the same 405 for paths with another method.
        const reason = new HttpServerError.RouteNotFound({ request })
        return yield* new HttpServerError.HttpServerError({ reason })
      })
    )
  })
)
