/**
 * Worktrees: a checkout of its own for each run that asks for one, on the branch `corral/<runId>` of the workspace's repository, in the
 * Edge's own folder and never in the workspace.
 *
 * It is kept until somebody removes it. Nobody removes it under a run, and what is nowhere else goes only by force, after everything that
 * git does not ignore was written to `refs/corral/<runId>`. Where it cannot tell, it keeps. Ignored files are no work: they go with it.
 */
import { Conflict, NotFound, SchemaValidationFailed } from "@corral/domain/errors/Failures"
import type { RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import type { RunFailure } from "@corral/domain/run/Run"
import type { ExaminedWorktree, Worktree, WorktreeStart } from "@corral/domain/run/Worktree"
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import { existsSync, mkdirSync, realpathSync } from "node:fs"
import { join } from "node:path"
import type { EdgeConfig } from "../config/EdgeConfig.ts"
import { findProgram } from "../process/ChildEnvironment.ts"
import { Store, type StoreFailed } from "../store/Store.ts"
import type { GitFailed } from "./Git.ts"
import { branchOf, type Held, keptRefOf, WorktreeCheckout } from "./WorktreeCheckout.ts"
import { type PlannedWorktree, planWorktree } from "./WorktreePlan.ts"
import {
  dropRow,
  findRow,
  forgetRow,
  occupied,
  pageOfRows,
  putRow,
  unsettledRows,
  type WorktreeRow
} from "./WorktreeRows.ts"

export class Worktrees extends Context.Service<
  Worktrees,
  {
    /** Where that run's worktree is or will be: a real path. */
    readonly pathOf: (owner: RunId) => string
    /** Looks at what the workspace is at; makes nothing. `root` is the workspace's real path. */
    readonly plan: (
      owner: RunId,
      workspace: WorkspaceId,
      root: string
    ) => Effect.Effect<PlannedWorktree, SchemaValidationFailed>
    /** For a run that goes on in a worktree: until the scope closes, nobody removes it and nobody else enters it. */
    readonly enter: (owner: RunId) => Effect.Effect<WorktreeStart, SchemaValidationFailed, Scope.Scope>
    /** Makes what is planned; what was made before is left as it is. `mark` is for the environment of its processes. */
    readonly make: (owner: RunId, mark: Readonly<Record<string, string>>) => Effect.Effect<void, RunFailure>
    /** When a run has ended: takes down what was not made to its end. */
    readonly settle: (owner: RunId) => Effect.Effect<void>
    /** At a start, when nothing of an earlier Edge is alive: takes down what it was making or removing. */
    readonly recover: Effect.Effect<void>
    /** Not the removed ones; newest first, those before `before`, at most `limit`. */
    readonly list: (before: string | undefined, limit: number) => ReadonlyArray<Worktree>
    readonly get: (owner: RunId) => Effect.Effect<ExaminedWorktree, NotFound>
    /** `conflict` where a run lives in it, where work would be lost, or where it could not be kept. */
    readonly remove: (owner: RunId, force: boolean) => Effect.Effect<void, NotFound | Conflict>
    /** Forgets one that was removed. */
    readonly forget: (owner: RunId) => Effect.Effect<void, StoreFailed>
  }
>()("corral/edge/Worktrees") {
  static readonly layer = (config: EdgeConfig) => Layer.effect(Worktrees, make(config))
}

const refused = (message: string) =>
  new SchemaValidationFailed({ details: { issues: [{ path: "resume", message }] } })

const isBusy = new Conflict({ message: "A run is at work in the worktree." })

const make = Effect.fnUntraced(function* (config: EdgeConfig) {
  const store = yield* Store
  const clock = yield* Clock.Clock
  const program = findProgram("git", config.environment["PATH"])
  mkdirSync(config.home, { recursive: true, mode: 0o700 })
  // The real path: git compares it with where it finds itself.
  const home = realpathSync(config.home)
  /** Those that somebody is about to enter or to take down. */
  const claimed = new Set<RunId>()

  const pathOf = (owner: RunId): string => join(home, "worktrees", owner)
  const neutral = join(home, "worktrees.git")
  const checkoutOf = ({ repository, runId }: WorktreeRow, mark: Readonly<Record<string, string>> = {}) =>
    new WorktreeCheckout(runId, {
      // Without it nothing was planned, or it is gone: what needs it fails then.
      program: program ?? "git",
      repository,
      folder: pathOf(runId),
      neutral,
      mark
    })

  const put = (row: WorktreeRow) => store.commit([putRow(row)])

  const find = (owner: RunId): Effect.Effect<WorktreeRow, NotFound> =>
    Effect.suspend(() => {
      const row = findRow(store, owner)
      return row === undefined
        ? Effect.fail(new NotFound({ message: "This run has no worktree of its own." }))
        : Effect.succeed(row)
    })

  const claim = <E>(owner: RunId, refusal: E): Effect.Effect<void, E, Scope.Scope> =>
    Effect.asVoid(
      Effect.acquireRelease(
        Effect.suspend(() =>
          claimed.has(owner) ? Effect.fail(refusal) : Effect.sync(() => claimed.add(owner))
        ),
        () => Effect.sync(() => claimed.delete(owner))
      )
    )

  /** Somebody may have removed it by hand. */
  const isThere = ({ runId, state }: WorktreeRow): boolean => state !== "removed" && existsSync(pathOf(runId))

  const shown = (row: WorktreeRow, lived: ReadonlySet<string>): Worktree => {
    const { base, branch, createdAt, leftOut, ref, runId, workspace } = row
    const state = lived.has(runId) ? "active" : isThere(row) ? "kept" : "removed"
    return {
      runId,
      workspace,
      state,
      base,
      ...(branch ? { branch: branchOf(runId) } : {}),
      ...(leftOut === undefined ? {} : { leftOut }),
      ...(ref === undefined ? {} : { ref }),
      createdAt
    }
  }

  const takeDown = (row: WorktreeRow): Effect.Effect<void, GitFailed | StoreFailed> =>
    Effect.flatMap(checkoutOf(row).remove(row.saved), (branch) =>
      row.state === "making" ? store.commit([dropRow(row.runId)]) : put({ ...row, branch, state: "removed" })
    )

  const said = (what: string) => (cause: GitFailed | StoreFailed) =>
    Effect.logWarning(`${what}: ${cause.message}`)

  const enter = Effect.fnUntraced(function* (owner: RunId) {
    const busy = refused("Another run is at work in the worktree of that run.")
    yield* claim(owner, busy)
    const row = findRow(store, owner)
    if (row === undefined || row.state !== "kept" || !isThere(row))
      return yield* refused("The worktree of that run was removed.")
    if (occupied(store).has(owner)) return yield* busy
    return { runId: owner, branch: branchOf(owner), base: row.base }
  })

  const makeOne = Effect.fnUntraced(function* (owner: RunId, mark: Readonly<Record<string, string>>) {
    const row = findRow(store, owner)
    if (row?.state !== "making") return
    yield* checkoutOf(row, mark)
      .make(row.base)
      .pipe(
        Effect.andThen(put({ ...row, state: "kept" })),
        Effect.tapError(said(`the worktree of ${owner} could not be made`)),
        Effect.mapError((): RunFailure => ({
          code: "internal",
          message: "The run's worktree could not be made.",
          details: { reason: "worktree_failed" }
        }))
      )
  })

  const settle = (owner: RunId): Effect.Effect<void> =>
    Effect.suspend(() => {
      const row = findRow(store, owner)
      return row?.state === "making" ? takeDown(row) : Effect.void
    }).pipe(Effect.catch(said(`the worktree of ${owner} was not made, and what is there of it not removed`)))

  const recover = Effect.suspend(() =>
    Effect.forEach(
      unsettledRows(store),
      (row) => takeDown(row).pipe(Effect.catch(said(`the worktree of ${row.runId} could not be removed`))),
      { discard: true }
    )
  )

  const get = Effect.fnUntraced(function* (owner: RunId) {
    const row = yield* find(owner)
    const known: Held = { head: row.head ?? row.base, uncommitted: false, unmerged: false }
    const looked = checkoutOf(row).held.pipe(
      Effect.tapError(said(`the worktree of ${owner} could not be looked through`)),
      // What cannot be told is taken to be something.
      Effect.orElseSucceed((): Held => ({ ...known, uncommitted: true, unmerged: true }))
    )
    const { head, uncommitted, unmerged } = row.state === "kept" && isThere(row) ? yield* looked : known
    return { ...shown(row, occupied(store)), head, uncommitted, unmerged }
  })

  /** Keeps what is nowhere else, where that is wanted; gives the row of what may go. */
  const saved = Effect.fnUntraced(function* (row: WorktreeRow, force: boolean) {
    const checkout = checkoutOf(row)
    const held = yield* checkout.held
    const { head, tip = head, uncommitted, unmerged } = held
    const going: WorktreeRow = { ...row, state: "removing", head, saved: [head, tip] }
    if (!uncommitted && !unmerged) return going
    if (!force) {
      return yield* new Conflict({
        message: "The worktree holds work that is nowhere else. Nothing was removed.",
        details: { uncommitted, unmerged }
      })
    }
    yield* checkout.keep(held, Math.floor(clock.currentTimeMillisUnsafe() / 1_000))
    return { ...going, ref: keptRefOf(row.runId) }
  })

  const remove = Effect.fnUntraced(function* (owner: RunId, force: boolean) {
    yield* claim(owner, isBusy)
    const row = yield* find(owner)
    if (row.state === "removed") return
    if (occupied(store).has(owner)) return yield* isBusy
    const going = row.state === "kept" && isThere(row) ? saved(row, force) : Effect.succeed(row)
    yield* going.pipe(
      Effect.flatMap((row) =>
        // Told on disk before anything goes.
        Effect.uninterruptible(Effect.andThen(put(row), takeDown(row)))
      ),
      Effect.catchIf(
        (failure) => failure._tag !== "Conflict",
        (cause) =>
          Effect.andThen(
            said(`the worktree of ${owner} stays`)(cause),
            Effect.fail(
              new Conflict({ message: "The worktree could not be removed. Nothing in it is lost." })
            )
          )
      )
    )
  }, Effect.scoped)

  return Worktrees.of({
    pathOf,
    plan: (owner, workspace, root) => planWorktree({ owner, workspace, root, home, neutral, program }),
    enter,
    make: makeOne,
    settle,
    recover,
    list: (before, limit) => {
      const lived = occupied(store)
      return pageOfRows(store, before, limit).map((row) => shown(row, lived))
    },
    get,
    remove,
    forget: (owner) => store.commit([forgetRow(owner)])
  })
})
