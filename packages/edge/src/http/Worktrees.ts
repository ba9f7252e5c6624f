/** `GET /v1/worktrees`, `GET` and `DELETE /v1/runs/{id}/worktree`, its commits, and `POST /v1/runs/{id}/repository/restore`. */
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import type { RunId } from "@corral/domain/identity/Ids"
import { Conflict, NotFound } from "@corral/domain/errors/Failures"
import { withErrorObject } from "@corral/domain/http/RequestContext"
import { isTerminal } from "@corral/domain/run/RunEnd"
import type { Worktree } from "@corral/domain/run/Worktree"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Changes } from "../change/Changes.ts"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { RepositoryRecord } from "../confinement/RepositoryRecord.ts"
import { findProgram } from "../process/ChildEnvironment.ts"
import { RunSupervisor } from "../run/RunSupervisor.ts"
import { Worktrees } from "../workspace/Worktrees.ts"
import { LOCAL_PRINCIPAL } from "./Principal.ts"
import { pageOf } from "@corral/service/http/Paged"

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
