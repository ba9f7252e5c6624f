/**
 * What a run left in files: `GET /v1/runs/{id}/diff`, `GET /v1/worktrees`, `GET` and `DELETE /v1/runs/{id}/worktree`, its commits, `POST
 * /v1/runs/{id}/repository/restore`, `GET /v1/layers` and `DELETE /v1/runs/{id}/layer`.
 */
import type { FileDiff } from "@corral/domain/edge-api/Diff"
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import type { LayerSummary } from "@corral/domain/edge-api/Worktrees"
import { Conflict, NotFound } from "@corral/domain/errors/Failures"
import { withErrorObject } from "@corral/domain/http/RequestContext"
import type { RunId } from "@corral/domain/identity/Ids"
import { isTerminal } from "@corral/domain/run/RunEnd"
import type { Worktree } from "@corral/domain/run/Worktree"
import { pageOf } from "@corral/service/http/Paged"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Changes } from "../change/Changes.ts"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { RepositoryRecord } from "../confinement/RepositoryRecord.ts"
import { diffOfRun, diffFolder } from "../layer/LayerReads.ts"
import { Layers } from "../layer/Layers.ts"
import { findProgram } from "../process/ChildEnvironment.ts"
import { RunSupervisor } from "../run/RunSupervisor.ts"
import { Snapshots } from "../workspace/Snapshots.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import { Worktrees } from "../workspace/Worktrees.ts"
import { LOCAL_PRINCIPAL } from "./EdgeRequestPolicy.ts"

const MAX_COMMITS = 100

const byRun = ({ runId }: Worktree): string => runId

export const worktrees = HttpApiBuilder.group(
  EdgeApi,
  "worktrees",
  Effect.fnUntraced(function* (handlers) {
    const runs = yield* RunSupervisor
    const worktrees = yield* Worktrees
    const changes = yield* Changes
    const { environment, home } = yield* EdgeConfig

    /** The worktree that a run works or worked in. */
    const worktreeOf = Effect.fnUntraced(function* (id: RunId) {
      const { worktree } = yield* runs.get(id)
      return worktree ?? (yield* new NotFound({ message: "This run has no separate worktree." }))
    })

    return handlers.handleAll({
      list: ({ query: { cursor, limit } }) =>
        pageOf({ principal: LOCAL_PRINCIPAL, filter: "worktrees", cursor, limit }, byRun, (before, limit) =>
          Effect.sync(() => worktrees.list(before, limit))
        ).pipe(withErrorObject),

      get: ({ params }) => withErrorObject(Effect.flatMap(worktreeOf(params.id), worktrees.get)),

      commits: ({ params }) =>
        worktreeOf(params.id).pipe(
          Effect.flatMap((owner) => worktrees.commits(owner, MAX_COMMITS)),
          Effect.map((items) => ({ items })),
          withErrorObject
        ),

      restoreRepository: ({ params: { id } }) =>
        runs.get(id).pipe(
          Effect.flatMap(({ state }) =>
            isTerminal(state)
              ? new RepositoryRecord(home, id).restore(findProgram("git", environment["PATH"]) ?? "git")
              : new Conflict({ message: "The run is live.", details: { reason: "run_active" } })
          ),
          withErrorObject
        ),

      remove: ({ params, query }) =>
        worktreeOf(params.id).pipe(
          Effect.flatMap((owner) =>
            Effect.andThen(
              worktrees.remove(owner, query.force === "true"),
              // Retention tries again.
              Effect.ignore(changes.forget(owner))
            )
          ),
          withErrorObject
        )
    })
  })
)

const byPath = ({ path }: FileDiff): string => path

/** `GET /v1/runs/{id}/diff`. */
export const diffs = HttpApiBuilder.group(
  EdgeApi,
  "diffs",
  Effect.fnUntraced(function* (handlers) {
    const runs = yield* RunSupervisor
    const layers = yield* Layers
    const snapshots = yield* Snapshots
    const workspaces = yield* Workspaces
    const worktrees = yield* Worktrees
    return handlers.handleAll({
      diff: Effect.fnUntraced(function* ({ params, query: { cursor, limit } }) {
        const runId = params.id
        const run = yield* runs.get(runId)
        const root = yield* diffFolder({ workspaces, worktrees }, run)
        const totals = { additions: 0, deletions: 0 }
        const list = { principal: LOCAL_PRINCIPAL, filter: `diff ${runId}`, cursor, limit }
        const page = yield* pageOf(list, byPath, (position, limit) =>
          Effect.map(
            diffOfRun({ layers, snapshots }, { run, root, position, limit }),
            ({ items, ...rest }) => {
              Object.assign(totals, rest)
              return items
            }
          )
        )
        return { ...page, runId, ...totals }
      }, withErrorObject)
    })
  })
)

const byOwner = ({ runId }: LayerSummary): string => runId

export const layers = HttpApiBuilder.group(
  EdgeApi,
  "layers",
  Effect.fnUntraced(function* (handlers) {
    const runs = yield* RunSupervisor
    const layers = yield* Layers
    return handlers.handleAll({
      list: ({ query: { cursor, limit } }) =>
        pageOf({ principal: LOCAL_PRINCIPAL, filter: "layers", cursor, limit }, byOwner, (before, limit) =>
          Effect.sync(() => layers.list(before, limit))
        ).pipe(withErrorObject),

      remove: Effect.fnUntraced(function* ({ params, query: { force } }) {
        const { layer } = yield* runs.get(params.id)
        if (layer === undefined) return yield* new NotFound({ message: "This run has no layer." })
        yield* layers.remove(layer.owner, force === "true")
      }, withErrorObject)
    })
  })
)
