/**
 * Snapshots of a workspace: its state when a run started, its state when no process of the run was alive, and the diff between the two. For
 * a live run, the diff is against the current workspace.
 *
 * Does not: fail a run. A state that cannot be taken (no git, too much to read in time) is logged and costs the run only its diff.
 * Does not: tell who changed a file. Changes by another run or a person in the same folder are in the diff as well.
 */
import { NotFound } from "@corral/domain/errors/Failures"
import type { Diff } from "@corral/domain/edge-api/Diff"
import type { RunId } from "@corral/domain/identity/Ids"
import { makeFolder } from "@corral/service/MakeFolder"
import { Context, Effect, Layer } from "effect"
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { findProgram } from "../process/ChildEnvironment.ts"
import { Launcher } from "../process/Launcher.ts"
import { PreparedLauncher } from "../process/PreparedLauncher.ts"
import type { GitFailed } from "./Git.ts"
import { ShadowRepository } from "./ShadowRepository.ts"
import {
  compareWithNow,
  type DiffSummary,
  hunksOf,
  storeComparison,
  storedComparison,
  diffSummary
} from "./SnapshotComparison.ts"
import { changedSince } from "./WorkspaceChanges.ts"

export class Snapshots extends Context.Service<
  Snapshots,
  {
    /** Records the start of a run by the file system's clock. Files that change after this succeeds have a later time. */
    readonly mark: (runId: RunId) => Effect.Effect<void>
    /** Takes the state at the start of a run whose folder is `root`. */
    readonly before: (runId: RunId, root: string) => Effect.Effect<void>
    /** Takes the state at the run's end. `undefined` if there is no state of its start. */
    readonly after: (runId: RunId, root: string) => Effect.Effect<DiffSummary | undefined>
    /** Names of up to 100 files that changed since `mark`, ignored files included. Call it after `after`. */
    readonly changed: (runId: RunId, root: string) => Effect.Effect<ReadonlyArray<string>>
    /** Removes the states of a run. The contents stay as long as another run's states need the repository. */
    readonly forget: (runId: RunId) => Effect.Effect<void>
    /** Up to `limit` changed files after `position`, ordered by path. */
    readonly diff: (
      runId: RunId,
      root: string,
      position: string | undefined,
      limit: number
    ) => Effect.Effect<Omit<Diff, "runId" | "nextCursor" | "requestId">, NotFound>
  }
>()("corral/edge/Snapshots") {
  static readonly layer = Layer.effect(
    Snapshots,
    Effect.gen(function* () {
      const launchers = yield* Effect.acquireRelease(
        Effect.sync(() => new PreparedLauncher(() => Launcher.start())),
        (prepared) => Effect.promise(() => prepared.close())
      )
      return make(yield* EdgeConfig, launchers)
    })
  )
}

const TIME_LIMIT_MS = 10_000
const MAX_NAMES = 100

/** Where the snapshots of an Edge are. */
interface SnapshotsContext {
  readonly folder: string
  /** The shadow repository of a workspace; `undefined` without git. */
  readonly repositoryOf: (root: string, launchers?: PreparedLauncher) => ShadowRepository | undefined
  /** For the start of a run, whose prompt waits for git. */
  readonly launchers: PreparedLauncher
}

const make = ({ environment, home }: EdgeConfig, launchers: PreparedLauncher): Snapshots["Service"] => {
  const program = findProgram("git", environment["PATH"])
  const folder = join(home, "snapshots")
  const context: SnapshotsContext = {
    folder,
    launchers,
    repositoryOf: (root, ready) =>
      program === undefined
        ? undefined
        : new ShadowRepository({ program, folder, root, timeoutMs: TIME_LIMIT_MS, launchers: ready })
  }
  return Snapshots.of({
    mark: (runId) => markStart(context, runId),
    before: (runId, root) => takeBefore(context, runId, root),
    after: (runId, root) => takeAfter(context, runId, root),
    changed: (runId, root) => changedFiles(context, runId, root),
    forget: (runId) => Effect.sync(() => forgetRun(context, runId)),
    diff: (runId, root, position = "", limit) => diffPage(context, runId, root, position, limit)
  })
}

/** A file whose time is the run's start by the file system's clock. */
const startFile = ({ folder }: SnapshotsContext, runId: RunId): string => join(folder, `${runId}.start`)

const markStart = Effect.fn("Snapshots.mark")(function* (context: SnapshotsContext, runId: RunId) {
  const since = touch(startFile(context, runId))
  // The file system's clock advances in steps: wait for the next step.
  while (touch(join(context.folder, "now")) <= since) yield* Effect.promise(() => setTimeout(1))
})

const takeBefore = (
  { launchers, repositoryOf }: SnapshotsContext,
  runId: RunId,
  root: string
): Effect.Effect<void> =>
  Effect.suspend(() => {
    const shadow = repositoryOf(root, launchers)
    return shadow === undefined
      ? Effect.void
      : shadow.capture(shadow.fileOf(runId, "before")).pipe(Effect.catch(logFailure("start", runId)))
  })

const takeAfter = (
  { repositoryOf }: SnapshotsContext,
  runId: RunId,
  root: string
): Effect.Effect<DiffSummary | undefined> =>
  Effect.suspend(() => {
    const shadow = repositoryOf(root)
    return shadow === undefined || !existsSync(shadow.fileOf(runId, "before"))
      ? Effect.undefined
      : storeComparison(shadow, runId).pipe(Effect.catch(logFailure("end", runId)))
  })

const logFailure = (state: "start" | "end", runId: RunId) => (cause: GitFailed) =>
  Effect.as(
    Effect.logWarning("failed to take workspace snapshot").pipe(
      Effect.annotateLogs({ runId, state, cause: cause.message })
    ),
    undefined
  )

const changedFiles = Effect.fn("Snapshots.changedFiles")(function* (
  context: SnapshotsContext,
  runId: RunId,
  root: string
) {
  const shadow = context.repositoryOf(root)
  const since = statSync(startFile(context, runId), { bigint: true, throwIfNoEntry: false })?.ctimeNs
  const comparison = shadow === undefined ? undefined : storedComparison(shadow, runId)
  const inSnapshot =
    shadow === undefined || comparison === undefined
      ? new Set<string>()
      : yield* Effect.orElseSucceed(shadow.pathsOf(shadow.fileOf(runId, "after")), () => new Set<string>())
  const touched = since === undefined ? [] : yield* changedSince(root, since)
  // The comparison covers the files of the snapshot. For the others, only their times are known.
  const others = touched.filter((path) => !inSnapshot.has(path))
  const compared = (comparison?.files ?? []).flatMap(({ fromPath, path }) => [
    path,
    ...(fromPath === undefined ? [] : [fromPath])
  ])
  return [...new Set([...compared, ...others])].toSorted().slice(0, MAX_NAMES)
})

const forgetRun = (context: SnapshotsContext, runId: RunId): void => {
  const { folder } = context
  rmSync(startFile(context, runId), { force: true })
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const runs = join(folder, name, "runs")
    const files = existsSync(runs) ? readdirSync(runs) : undefined
    for (const file of files ?? []) if (file.startsWith(`${runId}.`)) rmSync(join(runs, file))
    // Without references the repository is of no use: the next run of that workspace creates it again.
    if (files?.every((file) => file.startsWith(`${runId}.`)) === true)
      rmSync(join(folder, name), { recursive: true, force: true })
  }
}

const diffPage = Effect.fn("Snapshots.diff")(function* (
  { repositoryOf }: SnapshotsContext,
  runId: RunId,
  root: string,
  position: string,
  limit: number
) {
  const shadow = repositoryOf(root)
  const missing = new NotFound({
    message: "There is no snapshot of the workspace from the start of this run."
  })
  if (shadow === undefined || !existsSync(shadow.fileOf(runId, "before"))) return yield* missing
  const page = Effect.gen(function* () {
    const comparison = storedComparison(shadow, runId) ?? (yield* compareWithNow(shadow, runId))
    const files = comparison.files.filter(({ path }) => path > position).slice(0, limit)
    const { additions, deletions } = diffSummary(comparison)
    return { additions, deletions, items: yield* hunksOf(shadow, comparison, files) }
  })
  return yield* page.pipe(
    Effect.tapError(({ message }) =>
      Effect.logWarning("failed to read workspace diff").pipe(Effect.annotateLogs({ runId, cause: message }))
    ),
    Effect.mapError(() => missing)
  )
})

/** Writes a file and returns its time in nanoseconds of the file system's clock. */
const touch = (file: string): bigint => {
  makeFolder(dirname(file))
  writeFileSync(file, "", { mode: 0o600 })
  return statSync(file, { bigint: true }).ctimeNs
}
