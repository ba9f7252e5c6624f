/**
 * Worktrees: a separate checkout for each run that requests one, with a repository of the run that borrows the objects of the workspace's. Both
 * are in the Edge's folder, never in the workspace. What the run commits becomes the branch `corral/<runId>` of the workspace's repository.
 *
 * Guarantees: a worktree stays until a user removes it, and is never removed under a live run. Work that exists only in the worktree is
 * removed only by force, after everything that git does not ignore was written to `refs/corral/<runId>`. In doubt, the worktree stays.
 *
 * Does not: keep ignored files. They are removed with the worktree.
 */
import { Conflict, NotFound, Overloaded, SchemaValidationFailed } from "@corral/domain/errors/Failures"
import type { RunId, TaskGroupId, WorkspaceId } from "@corral/domain/identity/Ids"
import type { RunFailure } from "@corral/domain/run/Run"
import type { ExaminedWorktree, Worktree, WorktreeCommit, WorktreeStart } from "@corral/domain/run/Worktree"
import { makeFolder } from "@corral/service/MakeFolder"
import { Clock, Context, Effect, Layer, type Scope, Semaphore } from "effect"
import { existsSync, realpathSync } from "node:fs"
import { join } from "node:path"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { findProgram } from "../process/ChildEnvironment.ts"
import { Store, type StoreFailed } from "../store/Store.ts"
import { forgetEdgeRefs } from "./EdgeRefs.ts"
import { GitFailed, GitIsolation, type IsolatedFolders } from "./Git.ts"
import { claimGroupBase, findGroupBase, type RunGroup } from "./GroupBases.ts"
import { objectFoldersOf, readWorkspaceRepository, mayBorrowForRun } from "./WorkspaceRepository.ts"
import {
  dropRow,
  findRow,
  forgetRow,
  pageOfRows,
  putRow,
  runRepositoryOf,
  storeOf,
  unsettledRows,
  type WorktreeRow,
  worktreesInUse
} from "./WorktreeRows.ts"
import { branchOf, savedRefOf, WorktreeCheckout } from "./WorktreeCheckout.ts"
import { BORROWS_FOR_RUN, type PlannedWorktree, planWorktree } from "./WorktreePlan.ts"

export class Worktrees extends Context.Service<
  Worktrees,
  {
    /** Real path of the run's worktree, whether it exists yet or not. */
    readonly pathOf: (owner: RunId) => string
    /** Plans a worktree from the workspace's current commit, or that of a group; creates nothing. `root` is the workspace's real path. */
    readonly plan: (
      owner: RunId,
      workspace: WorkspaceId,
      root: string,
      group?: TaskGroupId
    ) => Effect.Effect<PlannedWorktree, SchemaValidationFailed | Overloaded>
    /** Reserves a worktree for a run that resumes in it. Until the scope closes, no one removes it and no other run enters it. */
    readonly enter: (owner: RunId) => Effect.Effect<WorktreeStart, SchemaValidationFailed, Scope.Scope>
    /** Creates a planned worktree, or prepares an existing one for a run that continues in it. `mark`: environment of the git processes. */
    readonly make: (owner: RunId, mark: Readonly<Record<string, string>>) => Effect.Effect<void, RunFailure>
    /** The run's repository, for its confinement; `undefined` if there is no worktree. */
    readonly repositoryOf: (owner: RunId) => IsolatedFolders | undefined
    /** Gives the run's repository the refs that the workspace has now, at the start of a turn. */
    readonly refresh: (owner: RunId) => Effect.Effect<void>
    /** Hands over what the run has committed, at the end of a turn. Succeeds with what a person should know, if it fails. */
    readonly handOver: (owner: RunId) => Effect.Effect<string | undefined>
    /** Puts back what git obeys in the run's repository, when no process of the run is alive. */
    readonly close: (owner: RunId) => Effect.Effect<void>
    /** Up to `limit` commits of the worktree as it is now, newest first. */
    readonly commits: (
      owner: RunId,
      limit: number
    ) => Effect.Effect<ReadonlyArray<WorktreeCommit>, NotFound | Conflict>
    /** Removes an incomplete worktree of a run that has ended. */
    readonly settle: (owner: RunId) => Effect.Effect<void>
    /**
     * Removes the worktrees that an earlier Edge was creating or removing. Call at start, when no process of it is alive. `adopted` runs can
     * create theirs again.
     */
    readonly recover: (adopted: ReadonlySet<string>) => Effect.Effect<void>
    /** Up to `limit` worktrees before `before`, newest first. Removed ones are left out. */
    readonly list: (before: string | undefined, limit: number) => ReadonlyArray<Worktree>
    readonly get: (owner: RunId) => Effect.Effect<ExaminedWorktree, NotFound>
    /** Fails with a conflict if a run is using the worktree, if work would be lost, or if the work cannot be saved. */
    readonly remove: (owner: RunId, force: boolean) => Effect.Effect<void, NotFound | Conflict>
    /** Deletes the row of a removed worktree. */
    readonly forget: (owner: RunId) => Effect.Effect<void, StoreFailed>
  }
>()("corral/edge/Worktrees") {
  static readonly layer = Layer.effect(
    Worktrees,
    Effect.gen(function* () {
      const config = yield* EdgeConfig
      makeFolder(config.home)
      return new GitWorktrees(
        yield* Store,
        yield* Clock.Clock,
        yield* GitIsolation,
        findProgram("git", config.environment["PATH"]),
        // The real path, because git compares it with its own.
        realpathSync(config.home)
      )
    })
  )
}

type Service = Worktrees["Service"]

/** A run that resumes another cannot work where that one worked. */
export const notResumed = (message: string) =>
  new SchemaValidationFailed({ details: { issues: [{ path: "resume", message }] } })

const inUse = new Conflict({ message: "A run is using the worktree." })

class GitWorktrees implements Service {
  private readonly store: Store["Service"]
  private readonly clock: Clock.Clock
  private readonly isolation: GitIsolation
  private readonly program: string | undefined
  private readonly home: string
  /** Owners whose worktree is being entered or removed. */
  private readonly claimed = new Set<RunId>()
  /** One caller at a time works with the repository of a run. */
  private readonly turns = new Map<RunId, Semaphore.Semaphore>()

  constructor(
    store: Store["Service"],
    clock: Clock.Clock,
    isolation: GitIsolation,
    program: string | undefined,
    home: string
  ) {
    this.store = store
    this.clock = clock
    this.isolation = isolation
    this.program = program
    this.home = home
  }

  readonly pathOf = (owner: RunId): string => {
    return join(this.home, "worktrees", owner)
  }

  readonly plan = Effect.fn("Worktrees.plan")(
    { self: this },
    function* (
      owner: RunId,
      workspace: WorkspaceId,
      root: string,
      id?: TaskGroupId
    ): Effect.fn.Return<PlannedWorktree, SchemaValidationFailed | Overloaded> {
      const { clock, home, program, store } = this
      const planFrom = (commit?: string) => planWorktree({ owner, workspace, root, home, program, commit })
      if (id === undefined) return yield* planFrom()
      const group: RunGroup = { id, kind: "worktree", root }
      const found = findGroupBase(store, group)
      const planned = yield* planFrom(found?.commit)
      if (found !== undefined) return planned
      const { base } = planned.start
      const { commit } = yield* claimGroupBase(
        store,
        group,
        { commit: base },
        clock.currentTimeMillisUnsafe()
      ).pipe(
        Effect.mapError(() => new Overloaded({ message: "The Edge can't write now: its disk may be full." }))
      )
      return commit === base ? planned : yield* planFrom(commit)
    }
  )

  readonly repositoryOf = (owner: RunId): IsolatedFolders | undefined => {
    const row = findRow(this.store, owner)
    return row === undefined
      ? undefined
      : { repository: runRepositoryOf(this.pathOf(owner)), objects: objectFoldersOf(row.repository) }
  }

  readonly list = (before: string | undefined, limit: number): ReadonlyArray<Worktree> => {
    const live = worktreesInUse(this.store)
    return pageOfRows(this.store, before, limit).map((row) => this.shown(row, live))
  }

  readonly forget = (owner: RunId): Effect.Effect<void, StoreFailed> => {
    return Effect.andThen(
      this.store.commit([forgetRow(owner)]),
      Effect.sync(() => forgetEdgeRefs(this.pathOf(owner)))
    )
  }

  private checkoutOf(
    { base, repository, runId }: WorktreeRow,
    mark: Readonly<Record<string, string>> = {}
  ): WorktreeCheckout {
    const folder = this.pathOf(runId)
    const store = storeOf(folder)
    return new WorktreeCheckout(runId, base, {
      // Without git nothing was planned, or git was uninstalled: its commands fail then.
      program: this.program ?? "git",
      repository,
      folder,
      runRepository: runRepositoryOf(folder),
      store,
      objects: join(store, "objects"),
      facts: readWorkspaceRepository(repository),
      isolation: this.isolation,
      mark
    })
  }

  /** Runs an effect when no other one works with the repository of the run. */
  private alone<A, E>(owner: RunId, effect: Effect.Effect<A, E>): Effect.Effect<A, E> {
    const { turns } = this
    return Effect.suspend(() => {
      const turn = turns.get(owner) ?? Semaphore.makeUnsafe(1)
      turns.set(owner, turn)
      return turn.withPermit(effect)
    })
  }

  private findWorktree(owner: RunId): Effect.Effect<WorktreeRow, NotFound> {
    const { store } = this
    return Effect.suspend(() => {
      const row = findRow(store, owner)
      return row === undefined
        ? Effect.fail(new NotFound({ message: "This run has no worktree." }))
        : Effect.succeed(row)
    })
  }

  /** Claims a worktree until the scope closes; fails with `refusal` while another caller has it. */
  private claim<E>(owner: RunId, refusal: E): Effect.Effect<void, E, Scope.Scope> {
    const { claimed } = this
    return Effect.asVoid(
      Effect.acquireRelease(
        Effect.suspend(() =>
          claimed.has(owner) ? Effect.fail(refusal) : Effect.sync(() => claimed.add(owner))
        ),
        () => Effect.sync(() => claimed.delete(owner))
      )
    )
  }

  /** Whether the folder exists: a user may have removed it by hand. */
  private isPresent({ runId, state }: WorktreeRow): boolean {
    return state !== "removed" && existsSync(this.pathOf(runId))
  }

  private shown(row: WorktreeRow, live: ReadonlySet<string>): Worktree {
    const { base, branch, createdAt, leftOut, ref, runId, workspace } = row
    const state = live.has(runId) ? "active" : this.isPresent(row) ? "kept" : "removed"
    return {
      runId,
      workspace,
      state,
      base,
      ...(branch === false ? {} : { branch: branch === true ? branchOf(runId) : branch }),
      ...(leftOut === undefined ? {} : { leftOut }),
      ...(ref === undefined ? {} : { ref }),
      createdAt
    }
  }

  /** Removes a checkout from disk, then its row or the row's state. */
  private removeCheckout(row: WorktreeRow): Effect.Effect<void, GitFailed | StoreFailed> {
    return Effect.flatMap(this.checkoutOf(row).removed, (branch) => {
      this.turns.delete(row.runId)
      return this.store.commit([
        row.state === "making"
          ? dropRow(row.runId)
          : putRow({ ...row, branch: branch ?? false, state: "removed" })
      ])
    })
  }

  readonly enter = Effect.fn("Worktrees.enter")({ self: this }, function* (owner: RunId) {
    const { store } = this
    const busy = notResumed("Another run is using the worktree of that run.")
    yield* this.claim(owner, busy)
    const row = findRow(store, owner)
    if (row === undefined || row.state !== "kept" || !this.isPresent(row))
      return yield* notResumed("The worktree of that run was removed.")
    if (worktreesInUse(store).has(owner)) return yield* busy
    yield* this.alone(owner, this.checkoutOf(row).converted).pipe(
      Effect.tapError(logFailure("failed to convert worktree", owner)),
      Effect.mapError(({ message }) =>
        notResumed(
          `The worktree of that run is one of an earlier version, and can't be converted: ${message}.`
        )
      )
    )
    return { runId: owner, branch: branchOf(owner), base: row.base }
  })

  readonly make = Effect.fn("Worktrees.make")(
    { self: this },
    function* (owner: RunId, mark: Readonly<Record<string, string>>) {
      const { store } = this
      const row = findRow(store, owner)
      if (row === undefined) return
      const checkout = this.checkoutOf(row, mark)
      const opened = mayBorrowForRun(this.home, row.repository)
        ? Effect.fail(new GitFailed({ message: BORROWS_FOR_RUN }))
        : row.state === "making"
          ? Effect.andThen(checkout.create(), store.commit([putRow({ ...row, state: "kept" })]))
          : checkout.opened
      yield* this.alone(owner, opened).pipe(
        Effect.tapError(logFailure("failed to create worktree", owner)),
        Effect.mapError((): RunFailure => ({
          code: "internal",
          message: "The run's worktree could not be created.",
          details: { reason: "worktree_failed" }
        }))
      )
    }
  )

  /** Works with an existing worktree. */
  private withCheckout<A, E>(
    owner: RunId,
    use: (checkout: WorktreeCheckout, row: WorktreeRow) => Effect.Effect<A, E>
  ): Effect.Effect<A | undefined, E> {
    return Effect.suspend(() => {
      const row = findRow(this.store, owner)
      return row?.state === "kept" && this.isPresent(row)
        ? this.alone(owner, use(this.checkoutOf(row), row))
        : Effect.undefined
    })
  }

  readonly refresh = (owner: RunId): Effect.Effect<void> => {
    return this.withCheckout(owner, (checkout) => checkout.refreshed).pipe(
      Effect.catch(logFailure("failed to copy refs of the workspace", owner))
    )
  }

  readonly close = (owner: RunId): Effect.Effect<void> => {
    return this.withCheckout(owner, (checkout) => checkout.settled).pipe(
      Effect.catch(logFailure("failed to restore the repository of a run", owner))
    )
  }

  readonly handOver = (owner: RunId): Effect.Effect<string | undefined> => {
    return this.withCheckout(owner, (checkout, row) =>
      Effect.flatMap(checkout.handedOver, (branch) =>
        branch === row.branch ? Effect.void : this.store.commit([putRow({ ...row, branch })])
      )
    ).pipe(
      Effect.as(undefined),
      Effect.tapError(logFailure("failed to hand over commits", owner)),
      Effect.orElseSucceed(
        () =>
          "The commits of this run did not reach the workspace's repository. They are still in its worktree."
      )
    )
  }

  readonly commits = Effect.fn("Worktrees.commits")({ self: this }, function* (owner: RunId, limit: number) {
    yield* this.findWorktree(owner)
    const found = yield* this.withCheckout(owner, (checkout) => checkout.commits(limit)).pipe(
      Effect.tapError(logFailure("failed to list commits", owner)),
      Effect.mapError(
        () => new Conflict({ message: "The commits of the worktree can't be read. Inspect its folder." })
      )
    )
    return found ?? (yield* new NotFound({ message: "The worktree was removed." }))
  })

  readonly settle = (owner: RunId): Effect.Effect<void> => {
    return Effect.suspend(() => {
      const row = findRow(this.store, owner)
      return row?.state === "making" ? this.removeCheckout(row) : Effect.void
    }).pipe(Effect.catch(logFailure("failed to remove incomplete worktree", owner)))
  }

  readonly recover = (adopted: ReadonlySet<string>): Effect.Effect<void> => {
    return Effect.suspend(() =>
      Effect.forEach(
        unsettledRows(this.store),
        (row) =>
          (row.state === "making" && adopted.has(row.runId)
            ? Effect.asVoid(this.checkoutOf(row).removed)
            : this.removeCheckout(row)
          ).pipe(Effect.catch(logFailure("failed to remove worktree", row.runId))),
        { discard: true }
      )
    )
  }

  readonly get = Effect.fn("Worktrees.get")({ self: this }, function* (owner: RunId) {
    const row = yield* this.findWorktree(owner)
    const recorded = { head: row.head ?? row.base, uncommitted: false, unmerged: false }
    const { head, uncommitted, unmerged } =
      (yield* this.withCheckout(owner, (checkout) => Effect.andThen(checkout.converted, checkout.work)).pipe(
        Effect.tapError(logFailure("failed to examine worktree", owner)),
        // If the check fails, the worktree counts as having work.
        Effect.orElseSucceed(() => ({ ...recorded, uncommitted: true, unmerged: true }))
      )) ?? recorded
    return { ...this.shown(row, worktreesInUse(this.store)), head, uncommitted, unmerged }
  })

  /** Saves work that exists only in the worktree, if `force` says so. Returns the row of the worktree that may be removed. */
  private readonly saveWork = Effect.fn("Worktrees.saveWork")(
    { self: this },
    function* (row: WorktreeRow, force: boolean) {
      const checkout = this.checkoutOf(row)
      yield* checkout.converted
      const work = yield* checkout.work
      const { head, uncommitted, unmerged } = work
      const removing: WorktreeRow = { ...row, state: "removing", head }
      if (!uncommitted && !unmerged) return removing
      if (!force) {
        return yield* new Conflict({
          message: "The worktree holds work that is nowhere else. Nothing was removed.",
          details: { uncommitted, unmerged }
        })
      }
      yield* checkout.save(work, Math.floor(this.clock.currentTimeMillisUnsafe() / 1_000))
      return { ...removing, ref: savedRefOf(row.runId) }
    }
  )

  readonly remove = Effect.fn("Worktrees.remove")(
    { self: this },
    function* (owner: RunId, force: boolean) {
      const { store } = this
      yield* this.claim(owner, inUse)
      const row = yield* this.findWorktree(owner)
      if (row.state === "removed") return
      if (worktreesInUse(store).has(owner)) return yield* inUse
      const removing =
        row.state === "kept" && this.isPresent(row)
          ? this.alone(owner, this.saveWork(row, force))
          : Effect.succeed(row)
      yield* removing.pipe(
        Effect.flatMap((row) =>
          // The row is durable before anything is removed.
          Effect.uninterruptible(Effect.andThen(store.commit([putRow(row)]), this.removeCheckout(row)))
        ),
        Effect.catchIf(
          (failure) => failure._tag !== "Conflict",
          (cause) =>
            Effect.andThen(
              logFailure("failed to remove worktree", owner)(cause),
              Effect.fail(
                new Conflict({ message: "The worktree could not be removed. Nothing in it is lost." })
              )
            )
        )
      )
    },
    Effect.scoped
  )
}

/** Logs a failure of work for a run. */
export const logFailure = (what: string, owner: RunId) => (cause: { readonly message: string }) =>
  Effect.logWarning(what).pipe(Effect.annotateLogs({ runId: owner, cause: cause.message }))
