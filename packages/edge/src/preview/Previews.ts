/**
 * Previews of a run's folder or port, each on a separate listener, open for an hour.
 *
 * Guarantees: a preview has a separate origin and requires a ticket. Closing it closes the listener and every socket
 * immediately. The listener passes on what `admitVisitor` admits, and sets the protecting headers on every response.
 *
 * Does not: survive the Edge, or check the content. Previews are supervised fibers in memory.
 */
import type { RequestId, PreviewId, RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import { Clock, Effect, Exit, Fiber, Scope, Context, Deferred, FiberMap, Layer, Option } from "effect"
import { type IncomingMessage, type ServerResponse, createServer } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import type { Duplex } from "node:stream"
import { answerClientErrors } from "@corral/service/http/ClientErrors"
import { requestIdOf } from "@corral/service/http/RequestIdLayer"
import { refuseUpgrade, standardHeaders } from "@corral/service/http/Refusal"
import { dropStalledResponses } from "@corral/service/http/StalledResponses"
import { mint } from "@corral/service/Identifiers"
import type { ErrorCode } from "@corral/domain/errors/ErrorTable"
import {
  type NotFound as NotFoundFailure,
  NotFound,
  Overloaded,
  type PermissionDenied,
  type WorkspaceOutsideAllowlist
} from "@corral/domain/errors/Failures"
import type { CreatePreview, OpenedPreview, Preview } from "@corral/domain/device/Preview"
import { type PreviewUpstream, protectionHeaders, refusePreview } from "./PreviewUpstream.ts"
import { PreviewGate } from "./PreviewGate.ts"
import { type FileFailure, openInside, openInView } from "../workspace/WorkspaceFiles.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import { folderSource, type PreviewedFolder, type UseFolder } from "./FolderSource.ts"
import { placeOfPort, portSource, type PreviewedRun } from "./PortSource.ts"

// Admission of every request and upgrade to a preview: the right Host, no foreign Origin, no other site, and a ticket or the cookie.
//
// `same-site` differs from `same-origin`: for a browser every port of this machine is the same site, another preview's too. From the same
// site only a user's own navigation is admitted. From any other site, such as a console, a navigation needs a ticket.

type PreviewAdmission =
  | { readonly _tag: "Pass" }
  /** A valid ticket, with the cookie for it. */
  | { readonly _tag: "Enter"; readonly setCookie: string }
  | { readonly _tag: "Refuse"; readonly code: ErrorCode; readonly message: string }

const refuse = (code: ErrorCode, message: string): PreviewAdmission => ({ _tag: "Refuse", code, message })

/** `/?ticket=…` and no other parameters: a page behind the preview may use `ticket` itself. */
const ticketOf = ({ method, url = "" }: IncomingMessage): string | undefined =>
  method === "GET" ? /^\/\?ticket=([A-Za-z0-9_-]{43})$/.exec(url)?.[1] : undefined

const hostsOf = ({ rawHeaders }: IncomingMessage): number =>
  rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === "host").length

const isOwnNavigation = ({ headers, method }: IncomingMessage): boolean =>
  method === "GET" && headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document"

const admitVisitor = (
  request: IncomingMessage,
  port: number,
  gate: PreviewGate,
  now: number
): PreviewAdmission => {
  const { headers, url = "" } = request
  if (hostsOf(request) !== 1 || headers.host !== `127.0.0.1:${port}`)
    return refuse("permission_denied", "The Host header names another server.")
  if (!url.startsWith("/")) return refuse("permission_denied", "The request target names another server.")
  if (headers.origin !== undefined && headers.origin !== `http://127.0.0.1:${port}`)
    return refuse("permission_denied", "This Origin may not reach the preview.")
  const site = headers["sec-fetch-site"]
  const ticket = ticketOf(request)
  if (site !== undefined && site !== "same-origin" && site !== "none") {
    if (!isOwnNavigation(request) || (site !== "same-site" && ticket === undefined))
      return refuse("permission_denied", "Requests from other pages are refused.")
  }
  if (ticket !== undefined) {
    const setCookie = gate.redeem(ticket, now)
    return setCookie === undefined
      ? refuse("unauthorized", "This ticket was used, or it is too late for it. Ask for the preview again.")
      : { _tag: "Enter", setCookie }
  }
  return gate.admits(headers)
    ? { _tag: "Pass" }
    : refuse("unauthorized", "Open the preview with the address that the Edge gives for it.")
}

const MAX_CONNECTIONS = 256

/** Page for browsers that do not continue automatically. */
const ENTRY_PAGE = `<!doctype html><meta charset="utf-8"><title>Preview</title><p><a href="/">Open the preview</a></p>\n`

/**
 * Sets the cookie and sends the browser to the preview, from a page of the preview itself. After a redirect, the browser would treat the request
 * as coming from the site of the link, and send no same-site cookie. The page with the ticket is not in the history.
 */
const enter = (response: ServerResponse, setCookie: string): void => {
  response.writeHead(200, {
    "content-type": "text/html; charset=utf-8",
    "content-length": Buffer.byteLength(ENTRY_PAGE),
    refresh: "0; url=/",
    "set-cookie": setCookie
  })
  response.end(ENTRY_PAGE)
}

/** Succeeds with the port of the listener. */
const servePreview = Effect.fnUntraced(function* (gate: PreviewGate, source: PreviewUpstream) {
  const clock = yield* Clock.Clock
  const services = yield* Effect.context<never>()
  const server = createServer({
    maxHeaderSize: 16_384,
    headersTimeout: 5_000,
    requestTimeout: 300_000,
    requireHostHeader: false
  })
  server.maxConnections = MAX_CONNECTIONS
  const now = () => clock.currentTimeMillisUnsafe()
  answerClientErrors(server, (request) =>
    request === undefined ? mint<RequestId>("req", now()) : requestId(request)
  )
  dropStalledResponses(server, now)
  const sockets = new Set<Socket>()
  server.on("connection", (socket) => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
  })

  const port = yield* Effect.acquireRelease(
    Effect.callback<number>((resume) => {
      server.once("error", (error) => resume(Effect.die(error)))
      server.listen({ host: "127.0.0.1", port: 0 }, () =>
        resume(Effect.succeed((server.address() as AddressInfo).port))
      )
    }),
    () =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        for (const socket of sockets) socket.destroy()
      })
  )
  // Closed before the listener, so that responses in progress release their resources.
  const answering = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))

  const requestId = (request: IncomingMessage): RequestId =>
    requestIdOf(request.headers) ?? mint<RequestId>("req", clock.currentTimeMillisUnsafe())

  /** Runs until the response is complete or the client disconnects. */
  const run = (effect: Effect.Effect<void>, client: ServerResponse | Duplex): void => {
    const fiber = Fiber.runIn(Effect.runForkWith(services)(effect), answering)
    client.once("close", () => fiber.interruptUnsafe())
  }

  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const id = requestId(request)
    for (const [name, value] of Object.entries({
      ...standardHeaders(id),
      ...protectionHeaders(port, source.kind)
    })) {
      response.setHeader(name, value)
    }
    const admission = admitVisitor(request, port, gate, clock.currentTimeMillisUnsafe())
    switch (admission._tag) {
      case "Refuse":
        return refusePreview(response, admission, id)
      case "Enter":
        return enter(response, admission.setCookie)
      case "Pass":
        return run(source.serve({ request, response, requestId: id }, port), response)
    }
  })

  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => undefined)
    const id = requestId(request)
    const admission = admitVisitor(request, port, gate, clock.currentTimeMillisUnsafe())
    if (admission._tag === "Refuse") return refuseUpgrade(socket, admission, id)
    // A ticket opens a page, not a socket.
    if (admission._tag === "Enter") return refuseUpgrade(socket, { code: "unauthorized" }, id)
    return run(source.upgrade({ request, socket, head, requestId: id }, port), socket)
  })

  return port
})

export const LIFETIME_MS = 3_600_000
export const MAX_PREVIEWS = 50

interface OpenPreview {
  readonly preview: Omit<Preview, "state">
  readonly gate: PreviewGate
  readonly source: PreviewUpstream
  readonly port: number
}

export class Previews extends Context.Service<
  Previews,
  {
    /** Succeeds when the preview listens. `edgePort` is never proxied to. `run` is that of the request. */
    readonly create: (
      request: CreatePreview,
      edgePort: number,
      run?: PreviewedRun
    ) => Effect.Effect<Preview, WorkspaceOutsideAllowlist | PermissionDenied | NotFoundFailure | Overloaded>
    /** The current preview with a URL that opens it once within a minute. With `runId`, only a preview of that run. */
    readonly open: (id: PreviewId, runId?: RunId) => Effect.Effect<OpenedPreview, NotFoundFailure>
    /** Up to `limit` previews of a run after `after`, oldest first. */
    readonly list: (
      runId: RunId,
      after: string | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Preview>>
    /** Succeeds when the listener and all its sockets are closed. */
    readonly close: (id: PreviewId) => Effect.Effect<void, NotFoundFailure>
  }
>()("corral/edge/preview/Previews") {
  static readonly layer = Layer.effect(
    Previews,
    Effect.suspend(() => makePreviews())
  )
}

const makePreviews = Effect.fnUntraced(function* () {
  const workspaces = yield* Workspaces
  const clock = yield* Clock.Clock
  const fibers = yield* FiberMap.make<PreviewId>()
  // With the Edge's own context: a preview outlives the request that created it.
  const fork = yield* FiberMap.runtime(fibers)<never>()
  const opened = new Map<PreviewId, OpenPreview>()

  const findPreview = (id: PreviewId): Effect.Effect<OpenPreview, NotFound> =>
    Effect.suspend(() => {
      const open = opened.get(id)
      return open === undefined ? Effect.fail(new NotFound()) : Effect.succeed(open)
    })

  const sourceOf = Effect.fnUntraced(function* (
    { workspace, source }: CreatePreview,
    edgePort: number,
    run: PreviewedRun | undefined
  ) {
    yield* workspaces.open(workspace)
    if (source.kind === "folder") {
      const folder = folderOf(workspaces, workspace, source.path, run)
      yield* folder.use(() => Effect.void)
      return folderSource(folder)
    }
    const isOwnPort = (port: number): boolean =>
      port === edgePort || [...opened.values()].some((open) => open.port === port)
    return portSource(source.port, yield* placeOfPort(source.port, run, isOwnPort))
  })

  /** Serves one preview until it expires or its fiber is interrupted. */
  const serve = (
    preview: OpenPreview["preview"],
    source: PreviewUpstream,
    ready: Deferred.Deferred<OpenPreview>
  ): Effect.Effect<void> =>
    Effect.gen(function* () {
      const gate = new PreviewGate()
      const open: OpenPreview = { preview, source, gate, port: yield* servePreview(gate, source) }
      yield* Effect.acquireRelease(
        Effect.sync(() => opened.set(preview.id, open)),
        () => Effect.sync(() => opened.delete(preview.id))
      )
      yield* Deferred.succeed(ready, open)
      yield* Effect.sleep(LIFETIME_MS)
    }).pipe(
      Effect.scoped,
      Effect.tapCause((cause) => Deferred.failCause(ready, cause))
    )

  return Previews.of({
    create: Effect.fn("Previews.create")(function* (request, edgePort, run) {
      const source = yield* sourceOf(request, edgePort, run)
      const at = clock.currentTimeMillisUnsafe()
      const id = mint<PreviewId>("prv", at)
      const preview = {
        ...request,
        id,
        createdAt: new Date(at).toISOString(),
        expiresAt: new Date(at + LIFETIME_MS).toISOString()
      }
      if ((yield* FiberMap.size(fibers)) >= MAX_PREVIEWS)
        return yield* new Overloaded({ message: "Too many previews are open. Close one first." })
      const ready = yield* Deferred.make<OpenPreview>()
      fork(id, serve(preview, source, ready))
      return yield* currentPreview(yield* Deferred.await(ready))
    }),
    open: Effect.fn("Previews.open")(function* (id, runId) {
      const open = yield* findPreview(id)
      if (runId !== undefined && open.preview.runId !== runId) return yield* new NotFound()
      const preview = yield* currentPreview(open)
      const ticket = open.gate.issue(clock.currentTimeMillisUnsafe())
      return { ...preview, url: `http://127.0.0.1:${open.port}/?ticket=${ticket}` }
    }),
    list: (runId, after = "", limit) =>
      Effect.suspend(() => {
        const ofRun = [...opened.values()].filter(
          ({ preview }) => preview.runId === runId && preview.id > after
        )
        ofRun.sort((a, b) => (a.preview.id < b.preview.id ? -1 : 1))
        return Effect.forEach(ofRun.slice(0, limit), currentPreview, { concurrency: 8 })
      }),
    close: Effect.fn("Previews.close")(function* (id) {
      yield* findPreview(id)
      const fiber = Option.getOrUndefined(yield* FiberMap.get(fibers, id))
      if (fiber !== undefined) yield* Fiber.interrupt(fiber)
    })
  })
})

/** A folder of the workspace, of the run's worktree, or of its layer. */
const folderOf = (
  workspaces: Workspaces["Service"],
  workspace: WorkspaceId,
  path: string,
  run: PreviewedRun | undefined
): PreviewedFolder => {
  const open = run?.inLayer === undefined ? openInside : openInView
  const inTop: UseFolder =
    run?.inLayer ??
    ((use) => Effect.flatMap(workspaces.open(workspace), (found) => use(run?.worktree ?? found.path)))
  const find = (top: string): Effect.Effect<string, FileFailure> =>
    open(top, path).pipe(
      Effect.flatMap((folder) =>
        folder.stats.isDirectory() ? Effect.succeed(folder.path) : Effect.fail(new NotFound())
      ),
      Effect.scoped,
      // Forbidden and missing folders are indistinguishable.
      Effect.catchTag("PermissionDenied", () => Effect.fail(new NotFound()))
    )
  return { open, use: (use) => inTop((top) => Effect.flatMap(find(top), use)) }
}

const currentPreview = ({ preview, source }: OpenPreview): Effect.Effect<Preview> =>
  Effect.map(source.reachable, (reachable) => ({
    ...preview,
    state: reachable ? "ready" : "unreachable"
  }))
