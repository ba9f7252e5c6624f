/**
 * `GET /v1/runs/{id}/previews`, `POST /v1/previews`, `GET` and `DELETE /v1/previews/{id}`.
 *
 * What is kept under an idempotency key holds no ticket: its replay gives the same preview with a fresh address, or `not_found` where it
 * is closed by then.
 */
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import { NotFound, PermissionDenied } from "@corral/domain/errors/Failures"
import type { CreatePreview, Preview } from "@corral/domain/device/Preview"
import { withErrorObject } from "@corral/domain/http/RequestContext"
import type { Run } from "@corral/domain/run/Run"
import { isTerminal } from "@corral/domain/run/RunEnd"
import { draft, type DraftOf } from "@corral/domain/run/RunEvent"
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import { Confinement } from "../confinement/Confinement.ts"
import { EdgeIdempotency, type ResultRows } from "../log/EdgeIdempotency.ts"
import { withRunFolder } from "../layer/LayerReads.ts"
import { Layers } from "../layer/Layers.ts"
import type { PreviewedRun } from "../preview/PortSource.ts"
import { Previews } from "../preview/Previews.ts"
import { RunSupervisor } from "../run/RunSupervisor.ts"
import { Store } from "../store/Store.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import { Worktrees } from "../workspace/Worktrees.ts"
import { idPosition, pageOf } from "@corral/service/http/Paged"
import { LOCAL_PRINCIPAL } from "./EdgeRequestPolicy.ts"
import { markReplayed } from "@corral/service/http/IdempotentRequest"

export const previews = HttpApiBuilder.group(
  EdgeApi,
  "previews",
  Effect.fnUntraced(function* (handlers) {
    const confinements = yield* Confinement
    const previews = yield* Previews
    const layers = yield* Layers
    const runs = yield* RunSupervisor
    const idempotency = yield* EdgeIdempotency
    const store = yield* Store
    const workspaces = yield* Workspaces
    const worktrees = yield* Worktrees

    const previewedRun = ({ confinement, id, layer, state, workspace, worktree }: Run): PreviewedRun => ({
      worktree: worktree === undefined ? undefined : worktrees.pathOf(worktree),
      inLayer:
        layer === undefined
          ? undefined
          : (use) =>
              Effect.flatMap(workspaces.open(workspace), ({ path }) =>
                withRunFolder(layers, { layer }, path, (top) => Effect.result(use(top))).pipe(
                  // The layer was removed.
                  Effect.mapError(() => new NotFound()),
                  Effect.flatMap(Effect.fromResult)
                )
              ),
      ports: confinement?.kind === "bubblewrap" ? () => confinements.portsOf(id) : undefined,
      hasEnded: isTerminal(state)
    })

    const create = Effect.fnUntraced(function* (payload: CreatePreview, keep: ResultRows<Preview>) {
      const { runId, workspace } = payload
      const run = runId === undefined ? undefined : yield* runs.get(runId)
      if (run !== undefined && run.workspace !== workspace)
        return yield* new PermissionDenied({ message: "The run works in another workspace." })
      const preview = yield* previews.create(payload, yield* edgePort, run && previewedRun(run))
      yield* Effect.orDie(store.commit(keep(preview))).pipe(
        Effect.onError(() => Effect.ignore(previews.close(preview.id)))
      )
      if (runId !== undefined) yield* runs.announce(runId, readyEvent(preview))
      return preview
    })

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ params, query: { cursor, limit } }) {
        const { id } = yield* runs.get(params.id)
        return yield* pageOf(
          { principal: LOCAL_PRINCIPAL, filter: `previews ${id}`, cursor, limit },
          idPosition,
          (after, limit) => previews.list(id, after, limit)
        )
      }, withErrorObject),

      create: Effect.fnUntraced(function* ({ headers, payload }) {
        const request = {
          scope: `${LOCAL_PRINCIPAL} POST /v1/previews`,
          key: headers["idempotency-key"],
          request: payload
        }
        const { body: preview, replayed: again } = yield* idempotency.once(
          request,
          (keep: ResultRows<Preview>) => create(payload, keep)
        )
        const body = yield* previews.open(preview.id)
        const location = `/v1/previews/${preview.id}`
        return yield* markReplayed(HttpApiSchema.withHeaders({ body, headers: { location } }), again)
      }, withErrorObject),

      get: ({ params }) => withErrorObject(previews.open(params.id)),

      remove: ({ params }) => withErrorObject(previews.close(params.id))
    })
  })
)

const readyEvent = ({ id: previewId, title, expiresAt }: Preview): DraftOf<"run.preview.ready"> =>
  draft("run.preview.ready", { previewId, title, expiresAt })

/** The guard lets no other `Host` through than the Edge's own, with its port. */
const edgePort = Effect.map(HttpServerRequest.HttpServerRequest, ({ headers }) =>
  Number(/:(\d+)$/.exec(headers["host"] ?? "")?.[1] ?? 0)
)
