/**
 * Watch over the protected names of one confined run: recorded before the agent receives its prompt, compared after its tool calls and at its
 * end. A change that no approval names is reported once.
 *
 * Guarantees: comparisons take at most a tenth of the time of the run, except the last one, which always takes place.
 * Does not: prevent a change, or tell which program made it.
 */
import {
  MAX_LISTED_CHANGES,
  type ProtectedChange,
  type ProtectedChanges
} from "@corral/domain/run/ProtectedChange"
import { draft } from "@corral/domain/run/RunEvent"
import type { RunMachineInput } from "@corral/domain/run/RunMachine"
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { AdapterEvent, ApprovalAnswer } from "@corral/domain/run/RuntimeAdapter"
import { Clock, Effect, Latch, Semaphore } from "effect"
import { workspacePathsAt } from "../approval/PathTarget.ts"
import { ApprovedFiles, type ApprovedFilesState } from "./ApprovedFiles.ts"
import { configuredNames } from "./ConfiguredFiles.ts"
import { inSteps } from "./InSteps.ts"
import {
  type ProtectedRecord,
  type StoredScan,
  changesBetween,
  scanOf,
  storedScan,
  uncovered
} from "./ProtectedRecord.ts"
import { ProtectedCopies, type ProtectedCopiesState } from "./ProtectedCopies.ts"
import { SetIdFiles } from "./SetIdFiles.ts"
import { type ProtectedScan, ProtectedTree } from "./ProtectedTree.ts"
import type { RepositoryRecord } from "./RepositoryRecord.ts"
import type { EdgeRefs } from "../workspace/EdgeRefs.ts"
import { RepositoryWatch, type RepositoryWatchState } from "./RepositoryWatch.ts"

/** After a comparison, the next one waits this many times as long as it took. */
const PAUSE = 9
/** Characters of a path that are reported. */
const MAX_PATH = 1_000

const shortened = ({ path, ...change }: ProtectedChange): ProtectedChange => ({
  ...change,
  path: path.length > MAX_PATH ? `${path.slice(0, MAX_PATH).toWellFormed()}…` : path
})

/** What a watch knows. */
export interface ProtectedWatchState {
  readonly last: StoredScan | undefined
  readonly approved: ApprovedFilesState
  readonly copies: ProtectedCopiesState
  readonly repository?: RepositoryWatchState | undefined
}

export interface ProtectedWatchFacts {
  /** The user's home, with further settings of git. */
  readonly home?: string | undefined
  /** Keeps what can be put back in the repository. */
  readonly repository?: RepositoryRecord | undefined
  /** Refs that the Edge writes meanwhile. */
  readonly edgeRefs?: EdgeRefs | undefined
  /** Whether the run's means does not refuse programs with the rights of another user. */
  readonly canSetIds?: boolean
}

/** Protection of the names of a workspace during a confined run. */
export interface RunProtection {
  /** Copies of the folders that the kernel protects. */
  readonly copies: ProtectedCopies
  /** Before the agent receives its prompt. */
  readonly start: Effect.Effect<void>
  /** Continues with what an earlier Edge recorded. */
  readonly continue: Effect.Effect<void>
  /** The run is over. */
  readonly removeRecord: () => void
  /** Adds what an allowed request names, before the runtime receives the answer. */
  readonly allow: (request: ApprovalRequest, answer: ApprovalAnswer) => void
  /** A tool call has ended. */
  readonly callEnded: () => void
  /** Reports what is found after tool calls. Never succeeds. */
  readonly follow: (report: (event: AdapterEvent) => void) => Effect.Effect<never>
  /** What was not reported, for the end of the run. */
  readonly review: Effect.Effect<ReadonlyArray<RunMachineInput>>
}

/** The event about changes of protected names. */
export const protectedChanged = (
  changes: ReadonlyArray<ProtectedChange>,
  isIncomplete = false
): AdapterEvent => {
  const payload: ProtectedChanges = {
    count: changes.length,
    files: changes.slice(0, MAX_LISTED_CHANGES).map(shortened),
    ...(isIncomplete ? { incomplete: true } : {})
  }
  return draft("run.protected.changed", payload)
}

export class ProtectedWatch implements RunProtection {
  readonly copies: ProtectedCopies
  readonly #approved: ApprovedFiles
  readonly #repository: RepositoryWatch
  readonly #tree: ProtectedTree
  readonly #due = Latch.makeUnsafe(false)
  readonly #one = Semaphore.makeUnsafe(1)
  /** What was reported so far. */
  #last: ProtectedScan | undefined
  #isIncompleteReported = false

  readonly #record: ProtectedRecord<ProtectedWatchState> | undefined
  readonly #setIds: SetIdFiles | undefined

  /** `record`: for the next Edge. */
  constructor(
    root: string,
    clock: Clock.Clock,
    record?: ProtectedRecord<ProtectedWatchState>,
    { canSetIds = false, edgeRefs, home, repository }: ProtectedWatchFacts = {}
  ) {
    const now = () => clock.currentTimeMillisUnsafe()
    this.#record = record
    this.#setIds = canSetIds ? new SetIdFiles(root) : undefined
    this.#approved = new ApprovedFiles(workspacePathsAt(root))
    this.#repository = new RepositoryWatch(root, repository, edgeRefs)
    this.copies = new ProtectedCopies(workspacePathsAt(root), now)
    this.#tree = new ProtectedTree(root, now, undefined, configuredNames(root, home))
  }

  /** Records the names, before the agent receives its prompt. */
  readonly start: Effect.Effect<void> = Effect.suspend(() => this.#scan).pipe(
    Effect.map((scan) => {
      this.#last ??= scan
      this.#repository.start()
      this.#save()
    }),
    this.#one.withPermits(1),
    Effect.andThen(Effect.suspend(() => this.#setIds?.start ?? Effect.void))
  )

  /** Continues with what an earlier Edge recorded. Without a record, the names are recorded now, and a report says that it is incomplete. */
  readonly continue: Effect.Effect<void> = Effect.suspend(() => {
    const state = this.#record?.read()
    if (state !== undefined) {
      this.#approved.restore(state.approved)
      this.copies.restore(state.copies)
      if (state.repository !== undefined) this.#repository.restore(state.repository)
      this.#last = state.last && scanOf(state.last)
    }
    this.callEnded()
    if (this.#last !== undefined) return Effect.void
    return Effect.andThen(
      this.start,
      Effect.sync(() => {
        if (this.#last !== undefined) this.#last = { ...this.#last, isComplete: false }
      })
    )
  })

  /** The run is over. */
  removeRecord(): void {
    this.#repository.close()
    this.#record?.remove()
  }

  #save(): void {
    this.#record?.write({
      last: this.#last && storedScan(this.#last),
      approved: this.#approved.state,
      copies: this.copies.state,
      repository: this.#repository.state
    })
  }

  /** Adds what an allowed request names, before the runtime receives the answer. */
  allow(request: ApprovalRequest, answer: ApprovalAnswer): void {
    this.#approved.allow(request, answer)
    this.copies.allow(request, answer)
    this.#repository.allow(request, answer)
    this.#save()
  }

  /** A tool call has ended. */
  callEnded(): void {
    this.#due.openUnsafe()
  }

  /** Compares after tool calls, and reports the changes. Never succeeds. */
  readonly follow = (report: (event: AdapterEvent) => void): Effect.Effect<never> =>
    Effect.gen({ self: this }, function* () {
      for (;;) {
        yield* this.#due.await
        this.#due.closeUnsafe()
        const started = yield* Clock.currentTimeMillis
        yield* this.#one.withPermits(1)(this.#report(report))
        yield* Effect.sleep(PAUSE * ((yield* Clock.currentTimeMillis) - started))
      }
    })

  /** What was not reported, for the end of the run. Compared again if it is called again. */
  readonly review: Effect.Effect<ReadonlyArray<RunMachineInput>> = Effect.suspend(() => {
    this.copies.settle()
    return this.#compare
  }).pipe(
    Effect.zipWith(
      Effect.suspend(() => this.#setIds?.review ?? Effect.succeed([])),
      (found, programs): ReadonlyArray<RunMachineInput> =>
        [
          found?.event,
          this.#eventOf(this.copies.discarded(), true),
          this.#repositoryEvent(true),
          ...programs
        ].flatMap((event) => (event === undefined ? [] : [{ _tag: "EventEmitted", event }]))
    ),
    this.#one.withPermits(1)
  )

  get #scan(): Effect.Effect<ProtectedScan> {
    return inSteps(this.#tree.scan())
  }

  #report(report: (event: AdapterEvent) => void): Effect.Effect<void> {
    this.copies.settle()
    const { once } = this.#approved
    return Effect.map(this.#compare, (found) => {
      if (found === undefined) return
      const { changes, event, scan } = found
      this.#approved.use(changes.flatMap(({ path }) => (once.has(path) ? [path] : [])))
      this.#last = scan
      this.#isIncompleteReported ||= !scan.isComplete
      const ofRepository = this.#repositoryEvent(false)
      this.#save()
      if (event !== undefined) report(event)
      if (ofRepository !== undefined) report(ofRepository)
    })
  }

  get #compare() {
    return Effect.map(this.#scan, (scan) => {
      const last = this.#last
      if (last === undefined) return undefined
      const changes = changesBetween(last, scan)
      const rest = uncovered(changes, (path) => this.#approved.covers(path))
      return { scan, changes, event: this.#eventOf(rest, scan.isComplete && last.isComplete) }
    })
  }

  #repositoryEvent(isFinal: boolean): AdapterEvent | undefined {
    const change = this.#repository.compare(isFinal)
    return change && draft("run.repository.changed", change)
  }

  #eventOf(changes: ReadonlyArray<ProtectedChange>, isComplete: boolean): AdapterEvent | undefined {
    const isUnread = !isComplete && !this.#isIncompleteReported
    return changes.length === 0 && !isUnread ? undefined : protectedChanged(changes, isUnread)
  }
}
