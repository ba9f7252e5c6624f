/**
 * Snapshots of a workspace: its state when a run started, its state when no process of the run was alive, and the diff between the
 * two. For a live run, the diff is against the current workspace.
 *
 * Guarantees: a run whose states cannot be taken or compared has unknown changes, and says why. It never looks like a run without
 * changes.
 *
 * Does not: tell who changed a file. Changes by another run or a person in the same folder are in the diff as well.
 */
import { UnknownChanges } from "@corral/domain/changes/UnknownChanges"
import type { Diff } from "@corral/domain/edge-api/Diff"
import { ChangesUnknown } from "@corral/domain/errors/Failures"
import type { ChangeSetId, RunId, TaskGroupId } from "@corral/domain/identity/Ids"
import { makeFolder } from "@corral/service/MakeFolder"
import { Context, type Duration, Effect, Layer, Schema } from "effect"
import { existsSync, linkSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { findProgram } from "../process/ChildEnvironment.ts"
import { Launcher, PreparedLauncher } from "../process/Launcher.ts"
import type { SnapshotView } from "./CaptureInProgress.ts"
import { attemptFiles, git, type GitFailed } from "./Git.ts"
import { RunStarts } from "./RunStarts.ts"
import { ShadowRepository } from "./ShadowRepository.ts"
import type { Captured } from "./SnapshotCapture.ts"
import { type CaptureOptions, SnapshotCaptures } from "./SnapshotCaptures.ts"
import {
  compareWithNow,
  type DiffSummary,
  diffSummary,
  hunksOf,
  storeComparison,
  storedComparison
} from "./SnapshotComparison.ts"

/** A state that was taken. */
export interface CapturedState extends Captured {
  /** The index file. */
  readonly index: string
}

/** Limits of snapshots. */
export interface SnapshotLimits {
  /** Time that the start and the end of a run wait. */
  readonly wait: Duration.Input
}
export const SnapshotLimits = Context.Reference<SnapshotLimits>("corral/edge/SnapshotLimits", {
  defaultValue: () => ({ wait: "10 seconds" })
})

/** A state of a folder as a tree of its shadow repository. */
export interface StateTree {
  readonly tree: string
  /** Paths that the state does not have. */
  readonly leftOut: ReadonlyArray<string>
}

export class Snapshots extends Context.Service<
  Snapshots,
  {
    /** Records the start of a run by the file system's clock. Files that change after this succeeds have a later time. */
    readonly mark: (runId: RunId) => Effect.Effect<void>
    /** Takes the state at the start of a run whose folder is `root`. */
    readonly before: (runId: RunId, root: string) => Effect.Effect<void>
    /** Takes the state at the run's end. */
    readonly after: (runId: RunId, root: string) => Effect.Effect<DiffSummary, ChangesUnknown>
    /**
     * Names of up to 100 files that changed since `mark`. Call it after `after`. `byTime`: ignored files of the workspace's folder, too, by their
     * times.
     */
    readonly changed: (runId: RunId, root: string, byTime?: boolean) => Effect.Effect<ReadonlyArray<string>>
    /** Takes a state into an index file of that repository. Fails as `slow` after the limit. */
    readonly capture: (
      shadow: ShadowRepository,
      index: string,
      options: CaptureOptions
    ) => Effect.Effect<Captured, GitFailed>
    /** Makes a state that was taken the one of a run's start. */
    readonly startFrom: (runId: RunId, root: string, state: CapturedState) => Effect.Effect<void>
    /** Makes a state that was taken the one of the run's end. */
    readonly endWith: (
      runId: RunId,
      root: string,
      state: CapturedState
    ) => Effect.Effect<DiffSummary, ChangesUnknown>
    /** Removes the states of a run, a change set or the base of a group. The contents stay as long as other states need the repository. */
    readonly forget: (id: RunId | ChangeSetId | TaskGroupId) => Effect.Effect<void>
    /** The shadow repository of a folder. */
    readonly repository: (root: string) => Effect.Effect<ShadowRepository, ChangesUnknown>
    /** Takes the state of a folder now. It stays until `id` is forgotten. */
    readonly take: (id: RunId | ChangeSetId, root: string) => Effect.Effect<StateTree, ChangesUnknown>
    /** The state at the start of a run. */
    readonly start: (runId: RunId, root: string) => Effect.Effect<StateTree, ChangesUnknown>
    /** The state at the end of a run. */
    readonly end: (runId: RunId, root: string) => Effect.Effect<StateTree, ChangesUnknown>
    /** Logs the failure of git, and fails with its reason. */
    readonly unknown: (
      id: RunId | ChangeSetId,
      root: string,
      failure: GitFailed
    ) => Effect.Effect<never, ChangesUnknown>
    /** Up to `limit` changed files after `position`, ordered by path. */
    readonly diff: (
      runId: RunId,
      root: string,
      position: string | undefined,
      limit: number,
      view?: SnapshotView
    ) => Effect.Effect<Omit<Diff, "runId" | "nextCursor" | "requestId">, ChangesUnknown>
  }
>()("corral/edge/Snapshots") {
  static readonly layer = Layer.effect(
    Snapshots,
    Effect.gen(function* () {
      const launchers = yield* Effect.acquireRelease(
        Effect.sync(() => new PreparedLauncher(() => Launcher.start())),
        (prepared) => Effect.promise(() => prepared.close())
      )
      const { wait } = yield* SnapshotLimits
      const captures = new SnapshotCaptures(yield* Effect.scope, wait)
      return new ShadowSnapshots(yield* EdgeConfig, captures, launchers)
    })
  )
}

/** Longest time of one git process. A run waits less for it. */
const GIT_LIMIT_MS = 300_000
const MAX_NAMES = 100

type Service = Snapshots["Service"]

class ShadowSnapshots implements Service {
  private readonly folder: string
  private readonly captures: SnapshotCaptures
  private readonly starts: RunStarts
  /** Absolute path of git; `undefined` without git. */
  private readonly program: string | undefined
  /** For the start of a run, whose prompt waits for git. */
  private readonly launchers: PreparedLauncher

  constructor({ environment, home }: EdgeConfig, captures: SnapshotCaptures, launchers: PreparedLauncher) {
    this.folder = join(home, "snapshots")
    this.captures = captures
    this.starts = new RunStarts(this.folder)
    this.program = findProgram("git", environment["PATH"])
    this.launchers = launchers
  }

  /** The shadow repository of a workspace; `undefined` without git. */
  private repositoryOf(root: string, launchers?: PreparedLauncher): ShadowRepository | undefined {
    const { folder, program } = this
    return program === undefined
      ? undefined
      : new ShadowRepository({ program, folder, root, timeoutMs: GIT_LIMIT_MS, launchers })
  }

  readonly capture = (
    shadow: ShadowRepository,
    index: string,
    options: CaptureOptions
  ): Effect.Effect<Captured, GitFailed> => this.captures.take(shadow, index, options)

  readonly startFrom = (runId: RunId, root: string, state: CapturedState): Effect.Effect<void> =>
    Effect.sync(() => {
      const shadow = this.repositoryOf(root)
      if (shadow === undefined) return
      linkState(state.index, shadow.fileOf(runId, "before"))
      const { leftOut } = state
      if (leftOut.length > 0)
        writeFileSync(shadow.fileOf(runId, "before.json"), encodeRecord({ leftOut }), { mode: 0o600 })
    })

  readonly endWith = Effect.fn("Snapshots.endWith")(
    { self: this },
    function* (runId: RunId, root: string, state: CapturedState) {
      const shadow = yield* this.startOf(runId, root)
      const { leftOut } = startRecord(shadow, runId)
      return yield* attemptFiles(() => linkState(state.index, shadow.fileOf(runId, "after"))).pipe(
        Effect.andThen(storeComparison(shadow, runId, [...leftOut, ...state.leftOut])),
        Effect.catch((failure) => this.failUnknown(runId, root, failure))
      )
    }
  )

  readonly mark = (runId: RunId): Effect.Effect<void> =>
    Effect.withSpan(this.starts.mark(runId), "Snapshots.mark")

  readonly before = Effect.fn("Snapshots.before")({ self: this }, function* (runId: RunId, root: string) {
    const shadow = this.repositoryOf(root, this.launchers)
    if (shadow === undefined) return
    const record = yield* this.captures
      .take(shadow, shadow.fileOf(runId, "before"))
      .pipe(
        Effect.catch((failure) =>
          Effect.map(this.unknownBy(runId, root, failure), (unknown) => ({ leftOut: [], unknown }))
        )
      )
    if (record.leftOut.length === 0 && !("unknown" in record)) return
    makeFolder(dirname(shadow.fileOf(runId, "before")))
    writeFileSync(shadow.fileOf(runId, "before.json"), encodeRecord(record), { mode: 0o600 })
  })

  readonly after = Effect.fn("Snapshots.after")({ self: this }, function* (runId: RunId, root: string) {
    const shadow = yield* this.startOf(runId, root)
    const { leftOut } = startRecord(shadow, runId)
    return yield* this.captures.take(shadow, shadow.fileOf(runId, "after")).pipe(
      Effect.flatMap((captured) => storeComparison(shadow, runId, [...leftOut, ...captured.leftOut])),
      Effect.catch((failure) => this.failUnknown(runId, root, failure))
    )
  })

  /** The repository with the state of the run's start. */
  private startOf(runId: RunId, root: string): Effect.Effect<ShadowRepository, ChangesUnknown> {
    const shadow = this.repositoryOf(root)
    if (shadow === undefined) return unknown({ reason: "no_git" })
    return existsSync(shadow.fileOf(runId, "before"))
      ? Effect.succeed(shadow)
      : unknown(startRecord(shadow, runId).unknown ?? { reason: "no_start" })
  }

  /** The reason of a failure, without paths of the machine. An old git fails in its own words, so its version is a part of them. */
  private readonly unknownBy = Effect.fnUntraced(
    { self: this },
    function* (id: RunId | ChangeSetId, root: string, { end, message }: GitFailed) {
      const { folder, program = "git" } = this
      yield* Effect.logWarning("failed to take workspace snapshot").pipe(
        Effect.annotateLogs({ id, cause: message })
      )
      if (end === "slow") return { reason: "too_large" } as const
      const version = yield* git({ program, cwd: folder, args: ["--version"], timeoutMs: 1_000 }).pipe(
        Effect.map(({ bytes }) => bytes.toString("utf8").trim()),
        Effect.orElseSucceed(() => "git")
      )
      const text = message.replaceAll(root, ".").replaceAll(folder, "…")
      return { reason: "failed", detail: `${version}: ${text}` } as const
    }
  )

  private failUnknown(runId: RunId | ChangeSetId, root: string, failure: GitFailed) {
    return Effect.flatMap(this.unknownBy(runId, root, failure), unknown)
  }

  readonly unknown = (id: RunId | ChangeSetId, root: string, failure: GitFailed) =>
    this.failUnknown(id, root, failure)

  readonly repository = (root: string): Effect.Effect<ShadowRepository, ChangesUnknown> =>
    Effect.suspend(() => {
      const shadow = this.repositoryOf(root)
      return shadow === undefined ? unknown({ reason: "no_git" }) : Effect.succeed(shadow)
    })

  readonly take = Effect.fn("Snapshots.take")(
    { self: this },
    function* (id: RunId | ChangeSetId, root: string) {
      const shadow = yield* this.repository(root)
      const index = shadow.fileOf(id, "state")
      return yield* this.captures.take(shadow, index).pipe(
        Effect.flatMap(({ leftOut }) => Effect.map(shadow.treeOf(index), (tree) => ({ tree, leftOut }))),
        Effect.catch((failure) => this.failUnknown(id, root, failure))
      )
    }
  )

  readonly start = Effect.fn("Snapshots.start")({ self: this }, function* (runId: RunId, root: string) {
    const shadow = yield* this.startOf(runId, root)
    const { leftOut } = startRecord(shadow, runId)
    return yield* shadow.treeOf(shadow.fileOf(runId, "before")).pipe(
      Effect.map((tree) => ({ tree, leftOut })),
      Effect.catch((failure) => this.failUnknown(runId, root, failure))
    )
  })

  readonly end = Effect.fn("Snapshots.end")({ self: this }, function* (runId: RunId, root: string) {
    const shadow = yield* this.startOf(runId, root)
    const comparison = storedComparison(shadow, runId)
    if (comparison === undefined) return yield* unknown({ reason: "interrupted" })
    return yield* shadow.treeOf(shadow.fileOf(runId, "after")).pipe(
      Effect.map((tree) => ({ tree, leftOut: comparison.leftOut?.paths ?? [] })),
      Effect.catch((failure) => this.failUnknown(runId, root, failure))
    )
  })

  readonly changed = Effect.fn("Snapshots.changed")(
    { self: this },
    function* (runId: RunId, root: string, byTime = true) {
      const shadow = this.repositoryOf(root)
      const comparison = shadow === undefined ? undefined : storedComparison(shadow, runId)
      const inSnapshot =
        shadow === undefined || comparison === undefined
          ? new Set<string>()
          : shadow.pathsOf(shadow.fileOf(runId, "after"))
      const touched = byTime ? yield* this.starts.changedSince(runId, root) : []
      // The comparison covers the files of the snapshot. For the others, only their times are known.
      const others = touched.filter((path) => !inSnapshot.has(path))
      const compared = (comparison?.files ?? []).flatMap(({ fromPath, path }) => [
        path,
        ...(fromPath === undefined ? [] : [fromPath])
      ])
      return [...new Set([...compared, ...others])].toSorted().slice(0, MAX_NAMES)
    }
  )

  readonly forget = (id: RunId | ChangeSetId | TaskGroupId): Effect.Effect<void> =>
    Effect.sync(() => {
      const { folder } = this
      this.starts.forget(id)
      for (const name of existsSync(folder) ? readdirSync(folder) : []) {
        const runs = join(folder, name, "runs")
        const files = existsSync(runs) ? readdirSync(runs) : undefined
        for (const file of files ?? []) if (file.startsWith(`${id}.`)) rmSync(join(runs, file))
        // Without references the repository is of no use: the next run of that workspace creates it again.
        if (files?.every((file) => file.startsWith(`${id}.`)) === true)
          rmSync(join(folder, name), { recursive: true, force: true })
      }
    })

  readonly diff = Effect.fn("Snapshots.diff")(
    { self: this },
    function* (runId: RunId, root: string, position: string | undefined, limit: number, view?: SnapshotView) {
      const shadow = yield* this.startOf(runId, root)
      const compareNow = this.captures
        .take(shadow, shadow.fileOf(runId, "now"), { view })
        .pipe(
          Effect.flatMap(({ leftOut }) =>
            compareWithNow(shadow, runId, [...startRecord(shadow, runId).leftOut, ...leftOut])
          )
        )
      const page = Effect.gen(function* () {
        const comparison = storedComparison(shadow, runId) ?? (yield* compareNow)
        const files = comparison.files.filter(({ path }) => path > (position ?? "")).slice(0, limit)
        const { additions, deletions, leftOut } = diffSummary(comparison)
        const items = yield* hunksOf(shadow, comparison, files)
        return { additions, deletions, items, ...(leftOut === undefined ? {} : { leftOut }) }
      })
      return yield* page.pipe(Effect.catch((failure) => this.failUnknown(runId, root, failure)))
    }
  )
}

/** Gives a state another name. */
const linkState = (index: string, name: string): void => {
  makeFolder(dirname(name))
  rmSync(name, { force: true })
  linkSync(index, name)
}

/** What a run's start leaves besides its state. */
const StartRecord = Schema.fromJsonString(
  Schema.Struct({
    leftOut: Schema.Array(Schema.String),
    /** Why there is no state. */
    unknown: Schema.optionalKey(UnknownChanges)
  })
)
type StartRecord = typeof StartRecord.Type
const encodeRecord = Schema.encodeSync(StartRecord)
const decodeRecord = Schema.decodeUnknownSync(StartRecord)

const startRecord = (shadow: ShadowRepository, runId: RunId): StartRecord => {
  const file = shadow.fileOf(runId, "before.json")
  return existsSync(file) ? decodeRecord(readFileSync(file, "utf8")) : { leftOut: [] }
}

const unknown = (details: UnknownChanges) => Effect.fail(new ChangesUnknown({ details }))
