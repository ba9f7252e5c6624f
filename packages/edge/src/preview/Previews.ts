/**
 * Previews of a run's folder or port, each on a separate listener, open for an hour.
 *
 * Guarantees: a preview has a separate origin and requires a ticket. Closing it closes the listener and every socket.
 *
 * Does not: survive the Edge, or check the content. Previews are supervised fibers in memory.
 */
import {
  type NotFound as NotFoundFailure,
  NotFound,
  Overloaded,
  type PermissionDenied,
  type WorkspaceOutsideAllowlist
} from "@corral/domain/errors/Failures"
import type { PreviewId, RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import type { CreatePreview, OpenedPreview, Preview } from "@corral/domain/device/Preview"
import { Clock, Context, Deferred, Effect, Fiber, FiberMap, Layer, Option } from "effect"
import { mint } from "@corral/service/Identifiers"
import { type FileFailure, openInside, openInView } from "../workspace/WorkspaceFiles.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import { folderSource, type PreviewedFolder, type UseFolder } from "./FolderSource.ts"
import { placeOfPort, portSource, type PreviewedRun } from "./PortSource.ts"
import { PreviewGate } from "./PreviewGate.ts"
import { servePreview } from "./PreviewServer.ts"
import type { PreviewUpstream } from "./PreviewUpstream.ts"

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
