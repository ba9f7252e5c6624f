/**
 * Static folder behind a preview: its files, and `index.html` for folders. Hidden files and other folders of the workspace are not served.
 *
 * Guarantees: every request opens the file again, by its real path and a checked descriptor. There is no listing and no cache.
 *
 * Does not: keep two files of a page consistent while it is rebuilt.
 */
import { NotFound } from "@corral/domain/errors/Failures"
import { Effect } from "effect"
import { lookup } from "mrmime"
import { createReadStream } from "node:fs"
import type { ServerResponse } from "node:http"
import { extname, relative, sep } from "node:path"
import { pipeline } from "node:stream/promises"
import { byteRange } from "./ByteRange.ts"
import { refuseUpgrade } from "@corral/service/http/Refusal"
import type { FileFailure, Opened, openInside } from "../workspace/WorkspaceFiles.ts"
import { refusePreview, type PreviewUpstream } from "./PreviewUpstream.ts"

export interface PreviewedFolder {
  /** Gives the folder's real path, or fails with the reason why it is missing. */
  readonly use: UseFolder
  /** How files in it are opened. */
  readonly open: typeof openInside
}

/** Uses a folder that is there until the effect ends. */
export type UseFolder = <A, E>(
  use: (root: string) => Effect.Effect<A, E>
) => Effect.Effect<A, E | FileFailure>

export const folderSource = (folder: PreviewedFolder): PreviewUpstream => ({
  kind: "folder",
  reachable: Effect.match(
    folder.use(() => Effect.void),
    { onFailure: () => false, onSuccess: () => true }
  ),
  upgrade: ({ socket, requestId }) =>
    Effect.sync(() => refuseUpgrade(socket, { code: "not_found" }, requestId)),
  serve: ({ request, response, requestId }) =>
    Effect.gen(function* () {
      const { headers, method, url = "/" } = request
      if (method !== "GET" && method !== "HEAD") {
        response.setHeader("allow", "GET, HEAD")
        return refusePreview(response, { code: "method_not_allowed" }, requestId)
      }
      const segments = segmentsOf(url)
      if (segments === undefined) return yield* new NotFound()
      yield* folder.use((root) =>
        Effect.gen(function* () {
          const requested = yield* openVisible(folder, root, segments)
          const isFolder = requested.stats.isDirectory()
          if (isFolder && !pathOf(url).endsWith("/")) return redirectInto(response, segments, url)
          const opened = isFolder ? yield* openVisible(folder, root, [...segments, "index.html"]) : requested
          if (!opened.stats.isFile() || (!isFolder && pathOf(url).endsWith("/"))) return yield* new NotFound()
          yield* send(opened, headers.range, method, response)
        }).pipe(Effect.scoped)
      )
    }).pipe(
      // Missing, hidden and outside files are indistinguishable.
      Effect.catch(() => Effect.sync(() => refusePreview(response, { code: "not_found" }, requestId)))
    )
})

const pathOf = (url: string): string => url.split("?", 1)[0] ?? ""

const isHidden = (segment: string): boolean => segment.startsWith(".")

/** The names of a path; none is empty, hidden or contains a separator. */
const segmentsOf = (url: string): ReadonlyArray<string> | undefined => {
  try {
    const segments = pathOf(url).replace(/^\//, "").replace(/\/$/, "").split("/").map(decodeURIComponent)
    if (segments.length === 1 && segments[0] === "") return []
    return segments.some((segment) => segment === "" || isHidden(segment) || /[/\\\0]/.test(segment))
      ? undefined
      : segments
  } catch {
    return undefined
  }
}

/** Opens the file with these names, unless a link leads out of the folder or to a hidden file. */
const openVisible = Effect.fnUntraced(function* (
  { open }: PreviewedFolder,
  root: string,
  segments: ReadonlyArray<string>
) {
  const opened = yield* open(root, segments.join("/"))
  return relative(root, opened.path).split(sep).some(isHidden) ? yield* new NotFound() : opened
})

/** Redirect to a folder's address with a slash, so that relative addresses in its page are correct. */
const redirectInto = (response: ServerResponse, segments: ReadonlyArray<string>, url: string): void => {
  const query = url.slice(pathOf(url).length)
  const location = `/${segments.map(encodeURIComponent).join("/")}/${query}`
  response.writeHead(308, { location, "content-length": 0 })
  response.end()
}

const textual = /^(text\/|application\/(json|javascript|manifest\+json)$|image\/svg\+xml$)/

const mediaTypeOf = (path: string): string => {
  const type = lookup(extname(path)) ?? "application/octet-stream"
  return textual.test(type) ? `${type}; charset=utf-8` : type
}

const send = (
  { descriptor, path, stats: { size } }: Opened,
  wanted: string | undefined,
  method: string,
  response: ServerResponse
): Effect.Effect<void> => {
  const part = byteRange(wanted, size)
  const length = part === undefined ? size : part.end - part.start + 1
  response.writeHead(part === undefined ? 200 : 206, {
    "accept-ranges": "bytes",
    "content-type": mediaTypeOf(path),
    "content-length": length,
    ...(part === undefined ? {} : { "content-range": `bytes ${part.start}-${part.end}/${size}` })
  })
  if (method === "HEAD" || length === 0) return Effect.sync(() => void response.end())
  const { start, end } = part ?? { start: 0, end: size - 1 }
  return Effect.tryPromise(async (signal) => {
    const bytes = createReadStream("", { fd: descriptor, autoClose: false, start, end })
    await pipeline(bytes, response, { signal, end: false })
    // The file became shorter: the client must not take the partial content as complete.
    if (bytes.bytesRead < length) response.destroy()
    else response.end()
  }).pipe(Effect.catch(() => Effect.sync(() => void response.destroy())))
}
