/**
 * Console: its files by name, and its page for every navigation. The page's script selects the view. At an address that is none of its pages the
 * status is 404: the page says so, and has no data. If the console is not installed or was not built, a plain page says so.
 *
 * The console's addresses are those of a Hub at the root of its origin, so a Hub below a path has the plain page, too. Its files are read once into
 * memory.
 */
import { acceptsPage, noRoute, notFoundPage } from "@corral/service/http/NotFound"
import { StaticFile } from "@corral/service/http/StaticFile"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { cookieScopeOf } from "./SessionCookies.ts"
import { PublicUrl } from "./Handlers.ts"
import { lookup } from "mrmime"
import { existsSync, readFileSync, readdirSync } from "node:fs"
import path from "node:path"
import { fileURLToPath } from "node:url"

/** Files by URL path: `/index.html`, `/assets/main-4f2c.js`. */
export type ConsoleFiles = ReadonlyMap<string, StaticFile>

/** Every file of a folder; none if the folder does not exist. */
export const readConsole = (folder: string | undefined): ConsoleFiles => {
  const files = new Map<string, StaticFile>()
  if (folder === undefined) return files
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = path.join(entry.parentPath, entry.name)
    const address = `/${path.relative(folder, file).split(path.sep).join("/")}`
    files.set(address, new StaticFile(lookup(entry.name) ?? "application/octet-stream", readFileSync(file)))
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

/** Addresses of pages. A test compares them with the routes of the console. */
export const pageAddresses: ReadonlyArray<string> = [
  "/",
  "/account",
  "/approvals",
  "/approvals/:id",
  "/audit",
  "/board",
  "/compare/:id",
  "/devices",
  "/devices/:id/presets",
  "/projects",
  "/projects/:id",
  "/runs",
  "/runs/:id",
  "/sessions/:id",
  "/start",
  "/tasks/:id",
  "/usage"
]

const segmentsOf = (address: string): ReadonlyArray<string> => address.split("/").slice(1)

/** The segments of pages. */
const pages = pageAddresses.map(segmentsOf)

const isPage = (path: string): boolean => {
  const segments = segmentsOf(path)
  return pages.some(
    (page) =>
      page.length === segments.length &&
      page.every((name, at) => (name === ":id" ? segments[at] !== "" : name === segments[at]))
  )
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

const respond = (path: string, file: StaticFile, request: Request, status?: number) =>
  file.respond(request, { ...standing, "cache-control": cachingOf(path) }, status)

const notBuilt = HttpServerResponse.text(absent, {
  contentType: "text/html; charset=utf-8",
  headers: { ...standing, "cache-control": "no-store" }
})

const isNavigation = ({ headers }: Request, path: string): boolean =>
  path === "/" || acceptsPage(headers["accept"])

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
  if (index !== undefined) return respond("/index.html", index, request, isPage(path) ? 200 : 404)
  return isPage(path) ? notBuilt : notFoundPage
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
        return consoleAnswer(files, request) ?? (yield* noRoute)
      })
    )
  })
)
