/**
 * The folder of a run: its snapshot before the start, and its review and its commits when no process of the run is alive.
 *
 * Guarantees: a run in a mode without changes fails if files changed meanwhile, regardless of what its runtime reports. Unknown changes are reported as unknown.
 *
 * Does not: tell who changed the files.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import type { RunFailure, RunMode } from "@corral/domain/run/Run"
import { type DraftOf, draft } from "@corral/domain/run/RunEvent"
import type { RunMachineInput } from "@corral/domain/run/RunMachine"
import { Effect, Fiber, Latch, type Scope } from "effect"
import type { RunProtection } from "../../confinement/ProtectedWatch.ts"
import type { DiffSummary } from "../../workspace/SnapshotComparison.ts"
import type { Snapshots } from "../../workspace/Snapshots.ts"
import type { Layers } from "../../layer/Layers.ts"
import type { Worktrees } from "../../workspace/Worktrees.ts"
import type { AdapterEvent } from "@corral/domain/run/RuntimeAdapter"
import type { RunState } from "@corral/domain/run/RunState"

// Commits of a live run in a worktree or a layer: handed over when a turn ends. When a further turn starts, the run receives the refs of its workspace.
//
// Guarantees: the event path only compares two values. The end of the run hands over again, when no process of it is alive (`RunWorkspace`).

/** Where runs hand over commits. */
type CommitServices = Pick<Worktrees["Service"], "handOver" | "refresh">

/** The notice of commits that did not reach the workspace. */
const handOverNotice = (text: string): AdapterEvent => draft("run.notice", { kind: "warning", text })

export class TurnCommits {
  readonly #worktrees: CommitServices
  readonly #owner: RunId
  readonly #due = Latch.makeUnsafe(false)
  #last: Pick<RunState, "isIdle" | "turn"> | undefined
  #hasEnded = false
  #hasStarted = false

  /** `owner`: the run that owns the worktree or the layer. */
  constructor(worktrees: CommitServices, owner: RunId) {
    this.#worktrees = worktrees
    this.#owner = owner
  }

  /** Compares the state of the run with that of the last batch. */
  observe({ isIdle, turn }: RunState): void {
    const last = this.#last
    if (last !== undefined && last.isIdle === isIdle && last.turn === turn) return
    this.#last = { isIdle, turn }
    if (last === undefined) return
    this.#hasEnded ||= isIdle || last.turn !== turn
    this.#hasStarted ||= !isIdle
    this.#due.openUnsafe()
  }

  /** Hands over and refreshes after turns, and reports what a person should know. Never succeeds. */
  readonly follow = (report: (event: AdapterEvent) => void): Effect.Effect<never> =>
    Effect.gen({ self: this }, function* () {
      for (;;) {
        yield* this.#due.await
        this.#due.closeUnsafe()
        const [hasEnded, hasStarted] = [this.#hasEnded, this.#hasStarted]
        this.#hasEnded = this.#hasStarted = false
        const problem = hasEnded ? yield* this.#worktrees.handOver(this.#owner) : undefined
        if (problem !== undefined) report(handOverNotice(problem))
        if (hasStarted) yield* this.#worktrees.refresh(this.#owner)
      }
    })
}

// Snapshot of the folder of one run at its start, begun when the run's turn has come and its folder exists. It is taken while the program is
// confined and started. The prompt waits for both.

export class StartSnapshot {
  readonly #take: Effect.Effect<void>
  #running: Fiber.Fiber<void> | undefined

  constructor(take: Effect.Effect<void>) {
    this.#take = take
  }

  /** Begins to take it. Ends with the scope. */
  readonly begin: Effect.Effect<void, never, Scope.Scope> = Effect.suspend(() =>
    Effect.map(Effect.forkScoped(this.#take, { startImmediately: true }), (fiber) => {
      this.#running = fiber
    })
  )

  /** Succeeds when it is taken. An interruption ends it. */
  readonly taken: Effect.Effect<void> = Effect.suspend(() => {
    const running = this.#running
    return running === undefined
      ? this.#take
      : Effect.onInterrupt(Fiber.join(running), () => Fiber.interrupt(running))
  })
}

export interface RunWorkspace {
  readonly runId: RunId
  readonly mode: RunMode
  /** Real path. */
  readonly root: string
  /** The run that owns its worktree. */
  readonly worktree?: RunId | undefined
  /** The run that owns its layer. */
  readonly layer?: RunId | undefined
}

const mayChange = (mode: RunMode): boolean => mode !== "read_only" && mode !== "plan"

/** Records the start, before the run's process exists. */
export const markRunStart = (
  snapshots: Snapshots["Service"],
  { mode, runId }: RunWorkspace
): Effect.Effect<void> => (mayChange(mode) ? Effect.void : snapshots.mark(runId))

/** Services for the folder of a run. */
export interface ReviewServices {
  readonly snapshots: Snapshots["Service"]
  readonly worktrees: Worktrees["Service"]
  readonly layers: Layers["Service"]
}

/** Inputs of the run machine about the folder, before the run ends. */
export const reviewRunChanges = Effect.fnUntraced(function* (
  { layers, snapshots, worktrees }: ReviewServices,
  { layer, mode, root, runId, worktree }: RunWorkspace,
  protection?: Pick<RunProtection, "review">
): Effect.fn.Return<ReadonlyArray<RunMachineInput>> {
  // First, because it may bring approved edits into the workspace or the layer.
  const found: Array<RunMachineInput> = protection === undefined ? [] : [...(yield* protection.review)]
  const compared = layer === undefined ? snapshots.after(runId, root) : layers.settle(runId, layer)
  const changes = yield* Effect.match(compared, {
    onSuccess: changesFound,
    onFailure: ({ details }): ReadonlyArray<ChangesEvent> => [
      draft("run.changes.unknown", details ?? { reason: "failed" })
    ]
  })
  for (const event of changes) found.push({ _tag: "EventEmitted", event })
  const owner = layer ?? worktree
  if (owner !== undefined) {
    const place = layer === undefined ? worktrees : layers
    yield* place.close(owner)
    const problem = yield* place.handOver(owner)
    if (problem !== undefined) found.push({ _tag: "EventEmitted", event: handOverNotice(problem) })
  }
  if (mayChange(mode)) return found
  const files = yield* snapshots.changed(runId, root, layer === undefined)
  if (files.length > 0) found.push({ _tag: "FailureImposed", error: brokenMode(mode, files) })
  return found
})

type ChangesEvent = DraftOf<"run.diff.ready" | "run.changes.unknown">

/** A run that changed nothing has no event. */
const changesFound = ({ additions, deletions, files, leftOut }: DiffSummary): ReadonlyArray<ChangesEvent> =>
  files === 0 && leftOut === undefined
    ? []
    : [
        draft("run.diff.ready", {
          files,
          additions,
          deletions,
          ...(leftOut === undefined ? {} : { leftOut })
        })
      ]

const brokenMode = (mode: RunMode, files: ReadonlyArray<string>): RunFailure => ({
  code: "permission_denied",
  message: `Files of the workspace changed during a run whose mode is ${mode}.`,
  details: { reason: "workspace_changed", mode, files }
})
