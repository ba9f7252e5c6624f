/**
 * Previews: what a run or a person wants to look at, each on a listener of its own, open for an hour.
 *
 * A preview is a supervised fiber: ending it closes the listener and every socket. It lives in memory alone, so none survives the Edge.
 * It promises nothing about what is shown, but that it is shown from an origin of its own and to nobody without a ticket.
 */
import {
  type NotFound as NotFoundFailure,
  NotFound,
  Overloaded,
  PermissionDenied,
  type WorkspaceOutsideAllowlist
} from "@corral/domain/errors/Failures"
import type { PreviewId, RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import type { CreatePreview, OpenedPreview, Preview } from "@corral/domain/device/Preview"
import { Clock, Context, Deferred, Effect, Fiber, FiberMap, Layer, Option } from "effect"
import { mint } from "@corral/service/Identifiers"
import { openInside } from "../workspace/WorkspaceFiles.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import { folderSource } from "./FolderSource.ts"
import { portSource } from "./PortSource.ts"
import { PreviewGate } from "./PreviewGate.ts"
import { servePreview } from "./PreviewServer.ts"
import type { PreviewSource } from "./PreviewSource.ts"

export const LIFETIME_MS = 3_600_000
export const MAX_PREVIEWS = 50

interface Open {
  readonly preview: Omit<Preview, "state">
  readonly gate: PreviewGate
  readonly source: PreviewSource
  readonly port: number
}

export class Previews extends Context.Service<
  Previews,
  {
    /**
     * Succeeds when it listens. `edgePort` is the Edge's own, which is never proxied to. `worktree` is where the run's folders are, where
     * that is not the workspace.
     */
    readonly create: (
      request: CreatePreview,
      edgePort: number,
      worktree?: string
    ) => Effect.Effect<Preview, WorkspaceOutsideAllowlist | PermissionDenied | NotFoundFailure | Overloaded>
    /** The preview as it is now, with an address that opens it once within a minute; of that run alone, where one is named. */
    readonly open: (id: PreviewId, runId?: RunId) => Effect.Effect<OpenedPreview, NotFoundFailure>
    /** A run's own, oldest first, those after `after`, at most `limit`. */
    readonly list: (
      runId: RunId,
      after: string | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Preview>>
    /** Succeeds when the listener and every socket of it are closed. */
    readonly close: (id: PreviewId) => Effect.Effect<void, NotFoundFailure>
  }
>()("corral/edge/preview/Previews") {
  static readonly layer = Layer.effect(
    Previews,
    Effect.gen(function* () {
      const workspaces = yield* Workspaces
      const clock = yield* Clock.Clock
      const fibers = yield* FiberMap.make<PreviewId>()
      // With the Edge's own context: a preview outlives the request that asked for it.
      const supervise = yield* FiberMap.runtime(fibers)<never>()
      const opened = new Map<PreviewId, Open>()

      const find = (id: PreviewId): Effect.Effect<Open, NotFound> =>
        Effect.suspend(() => {
          const open = opened.get(id)
          return open === undefined ? Effect.fail(new NotFound()) : Effect.succeed(open)
        })

      const folderOf = (workspace: WorkspaceId, path: string, worktree: string | undefined) =>
        Effect.gen(function* () {
          const opened = yield* workspaces.open(workspace)
          const root = worktree ?? opened.path
          const folder = yield* openInside(root, path)
          return folder.stats.isDirectory() ? folder.path : yield* new NotFound()
        }).pipe(
          Effect.scoped,
          // A folder that may not be shown is not there.
          Effect.catchTag("PermissionDenied", () => Effect.fail(new NotFound()))
        )

      const sourceOf = Effect.fnUntraced(function* (
        { workspace, source }: CreatePreview,
        edgePort: number,
        worktree: string | undefined
      ) {
        yield* workspaces.open(workspace)
        if (source.kind === "folder") {
          const folder = folderOf(workspace, source.path, worktree)
          yield* folder
          return folderSource(folder)
        }
        const isOurs = (port: number): boolean =>
          port === edgePort || [...opened.values()].some((open) => open.port === port)
        return isOurs(source.port)
          ? yield* new PermissionDenied({ message: "That port is the Edge's own." })
          : portSource(source.port, isOurs)
      })

      const now = ({ preview, source }: Open): Effect.Effect<Preview> =>
        Effect.map(source.reachable, (reachable) => ({
          ...preview,
          state: reachable ? "ready" : "unreachable"
        }))

      /** One preview's life, to be interrupted. */
      const live = (preview: Open["preview"], source: PreviewSource, ready: Deferred.Deferred<Open>) =>
        Effect.gen(function* () {
          const gate = new PreviewGate()
          const open: Open = { preview, source, gate, port: yield* servePreview(gate, source) }
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
        create: Effect.fn("Previews.create")(function* (request, edgePort, worktree) {
          const source = yield* sourceOf(request, edgePort, worktree)
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
          const ready = yield* Deferred.make<Open>()
          supervise(id, live(preview, source, ready))
          return yield* now(yield* Deferred.await(ready))
        }),
        open: Effect.fnUntraced(function* (id, runId) {
          const open = yield* find(id)
          if (runId !== undefined && open.preview.runId !== runId) return yield* new NotFound()
          const preview = yield* now(open)
          const ticket = open.gate.issue(clock.currentTimeMillisUnsafe())
          return { ...preview, url: `http://127.0.0.1:${open.port}/?ticket=${ticket}` }
        }),
        list: (runId, after = "", limit) =>
          Effect.suspend(() => {
            const own = [...opened.values()].filter(
              ({ preview }) => preview.runId === runId && preview.id > after
            )
            own.sort((a, b) => (a.preview.id < b.preview.id ? -1 : 1))
            return Effect.forEach(own.slice(0, limit), now, { concurrency: 8 })
          }),
        close: Effect.fnUntraced(function* (id) {
          yield* find(id)
          const fiber = Option.getOrUndefined(yield* FiberMap.get(fibers, id))
          if (fiber !== undefined) yield* Fiber.interrupt(fiber)
        })
      })
    })
  )
}
