/** `GET /v1/runs/{id}/diff`. */
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import type { FileDiff } from "@corral/domain/edge-api/Diff"
import { withErrorObject } from "@corral/domain/http/RequestContext"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { diffOfRun } from "../layer/LayerReads.ts"
import { Layers } from "../layer/Layers.ts"
import { RunSupervisor } from "../run/RunSupervisor.ts"
import { diffFolder } from "../workspace/DiffFolder.ts"
import { Snapshots } from "../workspace/Snapshots.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import { Worktrees } from "../workspace/Worktrees.ts"
import { pageOf } from "@corral/service/http/Paged"
import { LOCAL_PRINCIPAL } from "./Principal.ts"

const byPath = ({ path }: FileDiff): string => path

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
