/**
 * Checks of runs: after the end of a run that has some, each command is executed in what the run has changed, and its result is stored and sent.
 *
 * Guarantees: a check is executed at most once, and never where the Edge does not confine the run with bubblewrap. A new turn in the same files
 * ends those in progress. Checks that wait when the Edge ends are executed by the next one.
 *
 * Does not: say what a result means. It is no part of a run's log: the terminal event of a run stays its last.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import type { CheckResult, RunChecks } from "@corral/domain/run/Check"
import type { Run } from "@corral/domain/run/Run"
import { isTerminal } from "@corral/domain/run/RunEnd"
import { Clock, Context, Effect, FiberMap, Layer, Semaphore } from "effect"
import { Changes } from "../change/Changes.ts"
import { findChecks, openChecks, putChecks } from "../change/CheckRows.ts"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { Confinement } from "../confinement/Confinement.ts"
import { layersInUse } from "../layer/LayerRows.ts"
import { Layers } from "../layer/Layers.ts"
import { EdgeEventLog } from "../log/EdgeEventLog.ts"
import { findRun } from "../log/Runs.ts"
import { Containment } from "../process/Containment.ts"
import { EdgeIdentity } from "../run/recovery/Recovery.ts"
import { Store } from "../store/Store.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import { worktreesInUse } from "../workspace/WorktreeRows.ts"
import { Worktrees } from "../workspace/Worktrees.ts"
import { type CheckEnd, type CheckServices, executeCheck } from "./CheckCommand.ts"

export class Checks extends Context.Service<
  Checks,
  {
    /** Ends the checks in the layer or the worktree of a run. Succeeds when none of their processes is alive. */
    readonly stop: (run: Run) => Effect.Effect<void>
  }
>()("corral/edge/Checks") {
  static readonly layer = Layer.effect(
    Checks,
    Effect.gen(function* () {
      const { edgeId } = yield* EdgeIdentity
      const services: Services = {
        config: yield* EdgeConfig,
        confinement: yield* Confinement,
        containment: yield* Containment,
        changes: yield* Changes,
        layers: yield* Layers,
        store: yield* Store,
        workspaces: yield* Workspaces,
        worktrees: yield* Worktrees,
        clock: yield* Clock.Clock,
        edgeId
      }
      const fibers = yield* FiberMap.make<RunId, void>()
      const fork = yield* FiberMap.runtime(fibers)<never>()
      const checks = new EdgeChecks(services, fibers, fork)
      const log = yield* EdgeEventLog
      yield* Effect.acquireRelease(
        Effect.sync(() =>
          log.follow(undefined, {
            isObserver: true,
            receive: ({ runId, terminal }) => (terminal ? checks.ended(runId) : checks.lives(runId))
          })
        ),
        (unfollow) => Effect.sync(unfollow)
      )
      yield* checks.recover
      return checks
    })
  )
}

interface Services extends CheckServices {
  readonly changes: Changes["Service"]
  readonly store: Store["Service"]
  readonly workspaces: Workspaces["Service"]
}

type Fork = (owner: RunId, work: Effect.Effect<void>) => unknown

/** Checks that are executed at the same time. */
const AT_ONCE = 2

const NEW_TURN = "A new turn has begun."
const EDGE_ENDED = "The Edge ended meanwhile."
const REMOVED = "The changes were removed."

/** The run that owns the files. */
const ownerOf = ({ layer, worktree }: Run): RunId | undefined => layer?.owner ?? worktree

const isOpen = ({ state }: CheckResult): boolean => state === "waiting" || state === "running"

/** Why no check of the run is executed; `undefined` if they are. */
const refusalOf = ({ confinement }: Services, { confinement: ofRun, state }: Run): string | undefined => {
  if (state === "cancelled") return "The run was cancelled."
  return ofRun?.kind === "bubblewrap" && confinement.readiness.kind === "bubblewrap"
    ? undefined
    : "Checks need an Edge that confines the run with bubblewrap."
}

class EdgeChecks implements Context.Service.Shape<typeof Checks> {
  readonly #services: Services
  readonly #fibers: FiberMap.FiberMap<RunId, void>
  readonly #fork: Fork
  readonly #turn = Semaphore.makeUnsafe(AT_ONCE)
  /** Runs whose checks are in progress, by the owners of their files. */
  readonly #working = new Map<RunId, Run>()
  /** Live runs that use other files. */
  readonly #others = new Set<RunId>()

  constructor(services: Services, fibers: FiberMap.FiberMap<RunId, void>, fork: Fork) {
    this.#services = services
    this.#fibers = fibers
    this.#fork = fork
  }

  /** Begins the checks of a run that has ended. */
  ended(runId: RunId): void {
    this.#others.delete(runId)
    const { store } = this.#services
    const checks = findChecks(store, runId)
    const run = checks === undefined || checks.endedAt !== undefined ? undefined : findRun(store, runId)
    if (run !== undefined) this.#begin(run)
  }

  /** Ends checks in the files of a live run. */
  lives(runId: RunId): void {
    if (this.#working.size === 0 || this.#others.has(runId)) return
    const run = findRun(this.#services.store, runId)
    const owner = run && ownerOf(run)
    if (run === undefined || owner === undefined || !this.#working.has(owner)) this.#others.add(runId)
    else this.#fork(owner, this.#record(owner, NEW_TURN))
  }

  /** Checks of the Edge before this one. */
  get recover(): Effect.Effect<void> {
    return Effect.suspend(() =>
      Effect.forEach(openChecks(this.#services.store), (checks) => this.#recoverOf(checks), { discard: true })
    )
  }

  readonly stop = (run: Run): Effect.Effect<void> =>
    Effect.suspend(() => {
      const owner = ownerOf(run)
      if (owner === undefined) return Effect.void
      return Effect.andThen(FiberMap.remove(this.#fibers, owner), this.#record(owner, REMOVED))
    })

  /** A work in progress for the same files ends first: what has its key is interrupted by the next one. */
  #begin(run: Run): void {
    const owner = ownerOf(run)
    const earlier = owner === undefined ? undefined : this.#working.get(owner)
    // A run that ends during the start is found twice.
    if (owner === undefined || earlier?.id === run.id) return
    this.#working.set(owner, run)
    const before = earlier === undefined ? Effect.void : this.#stopped(earlier, NEW_TURN)
    const done = Effect.sync(() => {
      if (this.#working.get(owner) === run) this.#forget(owner)
    })
    const work = this.#perform(run).pipe(
      Effect.catchDefect((cause) =>
        Effect.andThen(
          Effect.logError("failed to execute checks", { runId: run.id }, cause),
          this.#end(run, { state: "unavailable", reason: "The Edge could not execute the checks." })
        )
      )
    )
    this.#fork(owner, Effect.andThen(before, Effect.andThen(work, done)))
  }

  readonly #recoverOf = Effect.fnUntraced({ self: this }, function* (checks: RunChecks) {
    const run = findRun(this.#services.store, checks.runId)
    const owner = run && ownerOf(run)
    if (run === undefined || owner === undefined || !isTerminal(run.state)) return
    if (this.#working.get(owner)?.id === run.id) return
    const isInterrupted = ({ state }: CheckResult): boolean => state === "running"
    if (checks.results.some(isInterrupted))
      yield* this.#put(run, withEnd(checks, isInterrupted, { state: "stopped", reason: EDGE_ENDED }))
    const { store } = this.#services
    const inUse = run.worktree === undefined ? layersInUse(store) : worktreesInUse(store)
    if (inUse.has(owner)) yield* this.#stopped(run, NEW_TURN)
    else this.#begin(run)
  })

  /** Records that the checks in the files of this owner have ended. */
  #record(owner: RunId, reason: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      const run = this.#working.get(owner)
      this.#forget(owner)
      return run === undefined ? Effect.void : this.#stopped(run, reason)
    })
  }

  #forget(owner: RunId): void {
    this.#working.delete(owner)
    if (this.#working.size === 0) this.#others.clear()
  }

  #stopped(run: Run, reason: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      const checks = findChecks(this.#services.store, run.id)
      return checks === undefined || checks.endedAt !== undefined
        ? Effect.void
        : this.#put(run, withEnd(checks, isOpen, { state: "stopped", reason }))
    })
  }

  readonly #perform = Effect.fn("Checks.perform")({ self: this }, function* (run: Run) {
    const refusal = refusalOf(this.#services, run)
    const place = refusal === undefined ? yield* Effect.result(this.#placeOf(run)) : undefined
    if (place?._tag !== "Success")
      return yield* this.#end(run, { state: "unavailable", reason: refusal ?? place?.failure ?? REMOVED })
    const { root, version } = place.success
    const all = findChecks(this.#services.store, run.id)?.results ?? []
    for (const [at, { command, state }] of all.entries())
      if (state === "waiting")
        yield* this.#turn.withPermit(
          Effect.gen({ self: this }, function* () {
            yield* this.#change(run, at, { state: "running" }, version)
            const end = yield* executeCheck(this.#services, run, root, command).pipe(
              Effect.catch((cause) =>
                Effect.succeed<CheckEnd>({
                  state: "unavailable",
                  reason: `The check could not be executed: ${cause}.`
                })
              )
            )
            yield* this.#change(run, at, end, version)
          })
        )
    // All of them had ended before.
    yield* this.#end(run, { state: "unavailable" })
  })

  /** Where the checks are executed, and the version of the changes. Fails with a sentence. */
  readonly #placeOf = Effect.fnUntraced({ self: this }, function* (run: Run): Effect.fn.Return<
    { root: string; version: string },
    string
  > {
    const { changes, workspaces, worktrees } = this.#services
    const { worktree } = run
    const { version } = yield* Effect.mapError(changes.summary(run.id), ({ message }) => message)
    const root =
      worktree === undefined
        ? (yield* Effect.mapError(workspaces.open(run.workspace), ({ message }) => message)).path
        : worktrees.pathOf(worktree)
    return { root, version }
  })

  /** Ends what is open of the checks. */
  #end(run: Run, end: CheckEnd): Effect.Effect<void> {
    return Effect.suspend(() => {
      const checks = findChecks(this.#services.store, run.id)
      return checks === undefined || checks.endedAt !== undefined
        ? Effect.void
        : this.#put(run, withEnd(checks, isOpen, end))
    })
  }

  #change(run: Run, place: number, end: CheckEnd, version: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      const checks = findChecks(this.#services.store, run.id)
      return checks === undefined
        ? Effect.void
        : this.#put(
            run,
            withEnd({ ...checks, version }, (_, at) => at === place, end)
          )
    })
  }

  /** Stores the checks, which end with the last result, and sends them. */
  #put(run: Run, checks: RunChecks): Effect.Effect<void> {
    const { changes, clock } = this.#services
    const isEnded = !checks.results.some(isOpen)
    const ended = isEnded ? { endedAt: new Date(clock.currentTimeMillisUnsafe()).toISOString() } : {}
    return changes
      .record(run, [putChecks({ ...checks, ...ended })])
      .pipe(
        Effect.catch(({ message }) =>
          Effect.logWarning("failed to store checks", { runId: run.id, cause: message })
        )
      )
  }
}

/** The checks with this end of some. */
const withEnd = (
  checks: RunChecks,
  isMeant: (result: CheckResult, at: number) => boolean,
  end: CheckEnd
): RunChecks => ({
  ...checks,
  results: checks.results.map((result, at): CheckResult => {
    const { command, name } = result
    return isMeant(result, at) ? { name, command, ...end } : result
  })
})
