/**
 * The workspace as it was: its state when a run started, its state when nothing of the run was alive any more, and the diff between
 * the two. While the run lives, the diff is against the workspace as it is now.
 *
 * A state that cannot be taken (no git, too much to read in time) is said in the log and costs the run nothing but its diff. It cannot
 * tell who changed a file: another run or a person in the same folder is in the diff as well.
 */
import { NotFound } from "@corral/domain/errors/Failures"
import type { Diff, FileDiff } from "@corral/domain/edge-api/Diff"
import type { RunId } from "@corral/domain/identity/Ids"
import { Context, Effect, Layer } from "effect"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { setTimeout } from "node:timers/promises"
import type { EdgeConfig } from "../config/EdgeConfig.ts"
import { findProgram } from "../process/ChildEnvironment.ts"
import { type ChangedFile, readChanges, readPatch } from "./DiffOutput.ts"
import type { GitFailed } from "./Git.ts"
import { ShadowRepository } from "./ShadowRepository.ts"
import { changedSince } from "./WorkspaceChanges.ts"

/** What a run left different. */
export interface DiffSummary {
  readonly files: number
  readonly additions: number
  readonly deletions: number
}

/** A whole diff, without the hunks. */
interface Comparison {
  readonly before: string
  readonly after: string
  readonly files: ReadonlyArray<ChangedFile>
}

export class Snapshots extends Context.Service<
  Snapshots,
  {
    /** Notes when a run starts, as the file system tells time: what changes once this has succeeded, changed later. */
    readonly mark: (runId: RunId) => Effect.Effect<void>
    /** Takes the state at the start of a run whose folder is `root`. */
    readonly before: (runId: RunId, root: string) => Effect.Effect<void>
    /** Takes the state at its end. `undefined` where there was none at its start. */
    readonly after: (runId: RunId, root: string) => Effect.Effect<DiffSummary | undefined>
    /** Files that changed since the start that was noted, ignored ones included, at most 100 names. Ask it after `after`. */
    readonly changed: (runId: RunId, root: string) => Effect.Effect<ReadonlyArray<string>>
    /** Removes what is kept of a run; the contents stay as long as another run's states need the repository. */
    readonly forget: (runId: RunId) => Effect.Effect<void>
    /** Files by path, those after `position`, at most `limit`. */
    readonly diff: (
      runId: RunId,
      root: string,
      position: string | undefined,
      limit: number
    ) => Effect.Effect<Omit<Diff, "runId" | "nextCursor" | "requestId">, NotFound>
  }
>()("corral/edge/Snapshots") {
  static readonly layer = (config: EdgeConfig) => Layer.sync(Snapshots, () => make(config))
}

const TIME_LIMIT_MS = 10_000
const NAMES = 100
/** Of one page; what is beyond is said to be truncated. */
const PATCH_BYTES = 8_388_608
const HUNK_LINES = 2_000

const make = ({ environment, home }: EdgeConfig): Snapshots["Service"] => {
  const program = findProgram("git", environment["PATH"])
  const folder = join(home, "snapshots")

  const repository = (root: string): ShadowRepository | undefined =>
    program === undefined
      ? undefined
      : new ShadowRepository({ program, folder, root, timeoutMs: TIME_LIMIT_MS })

  /** A file whose time says when the run started, as the file system tells time. */
  const startFile = (runId: RunId): string => join(folder, `${runId}.start`)

  const compare = Effect.fnUntraced(function* (
    shadow: ShadowRepository,
    runId: RunId,
    end: string
  ): Effect.fn.Return<Comparison, GitFailed> {
    const start = shadow.fileOf(runId, "before")
    // Where nothing differs git leaves the file as it was, and every git process is time that a run's end waits for.
    if (isSameFile(start, end)) return { before: "", after: "", files: [] }
    const [before, after] = yield* Effect.all([shadow.treeOf(start), shadow.treeOf(end)], { concurrency: 2 })
    const args = ["diff-tree", "-r", "-z", "-M", "--raw", "--numstat", before, after]
    const { bytes } = yield* shadow.run(args)
    const changes = readChanges(bytes)
    const tracked = changes.some(({ status }) => status === "added") ? yield* shadow.tracked() : undefined
    const files = changes.map((file): ChangedFile =>
      file.status === "added" && tracked?.has(file.path) === false ? { ...file, status: "untracked" } : file
    )
    return { before, after, files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)) }
  })

  const recorded = (shadow: ShadowRepository, runId: RunId): Comparison | undefined => {
    const file = shadow.fileOf(runId, "diff.json")
    // Written by `after` below, whole or not at all.
    return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Comparison) : undefined
  }

  const after = Effect.fnUntraced(function* (shadow: ShadowRepository, runId: RunId) {
    const end = shadow.fileOf(runId, "after")
    yield* shadow.capture(end)
    const comparison = yield* compare(shadow, runId, end)
    writeFileSync(shadow.fileOf(runId, "diff.json"), JSON.stringify(comparison), { mode: 0o600 })
    return summary(comparison.files)
  })

  /** Against the workspace as it is now. */
  const current = Effect.fnUntraced(function* (shadow: ShadowRepository, runId: RunId) {
    const now = shadow.fileOf(runId, "now")
    yield* shadow.capture(now)
    return yield* compare(shadow, runId, now)
  })

  const hunks = Effect.fnUntraced(function* (
    shadow: ShadowRepository,
    { before, after }: Comparison,
    files: ReadonlyArray<ChangedFile>
  ): Effect.fn.Return<ReadonlyArray<FileDiff>, GitFailed> {
    if (files.length === 0) return []
    const paths = files.flatMap(({ fromPath, path }) => (fromPath === undefined ? [path] : [fromPath, path]))
    const pair = [before, after, "--", ...paths]
    const inOrder = readChanges(
      (yield* shadow.run(["diff-tree", "-r", "-z", "-M", "--raw", "--numstat", ...pair])).bytes
    )
    const { bytes, cut } = yield* shadow.run(
      ["diff-tree", "-r", "-M", "-p", "--no-color", "--no-ext-diff", "--no-textconv", ...pair],
      { maxBytes: PATCH_BYTES }
    )
    const sections = readPatch(bytes.toString("utf8"))
    const whole = cut ? sections.length - 1 : sections.length
    const bySection = new Map(inOrder.map(({ path }, at) => [path, at]))
    return files.map((file): FileDiff => {
      const at = bySection.get(file.path)
      const found = at === undefined ? undefined : sections[at]
      const kept = cutHunks(found ?? [])
      const lost = at === undefined || at >= whole || kept.length < (found?.length ?? 0)
      return { ...file, hunks: kept, ...(lost && !file.binary ? { truncated: true as const } : {}) }
    })
  })

  const unsaid = (what: string) => (cause: GitFailed) =>
    Effect.as(Effect.logWarning(`${what} could not be taken: ${cause.message}`), undefined)

  return Snapshots.of({
    mark: (runId) =>
      Effect.gen(function* () {
        const since = touched(startFile(runId))
        // The file system's clock goes in steps, whatever clock the program goes by: what is done from here on is in a later one.
        while (touched(join(folder, "now")) <= since) yield* Effect.promise(() => setTimeout(1))
      }),

    before: (runId, root) =>
      Effect.suspend(() => {
        const shadow = repository(root)
        return shadow === undefined
          ? Effect.void
          : shadow
              .capture(shadow.fileOf(runId, "before"))
              .pipe(Effect.catch(unsaid("the workspace's state at the start")))
      }),

    after: (runId, root) =>
      Effect.suspend(() => {
        const shadow = repository(root)
        return shadow === undefined || !existsSync(shadow.fileOf(runId, "before"))
          ? Effect.undefined
          : after(shadow, runId).pipe(Effect.catch(unsaid("the workspace's state at the end")))
      }),

    changed: Effect.fnUntraced(function* (runId, root) {
      const shadow = repository(root)
      const since = statSync(startFile(runId), { bigint: true, throwIfNoEntry: false })?.ctimeNs
      const known = shadow === undefined ? undefined : recorded(shadow, runId)
      const inSnapshot =
        shadow === undefined || known === undefined
          ? new Set<string>()
          : yield* Effect.orElseSucceed(
              shadow.pathsOf(shadow.fileOf(runId, "after")),
              () => new Set<string>()
            )
      const seen = since === undefined ? [] : yield* changedSince(root, since)
      // What the snapshot holds, it has compared; the rest is told by its time alone.
      const others = seen.filter((path) => !inSnapshot.has(path))
      const named = (known?.files ?? []).flatMap(({ fromPath, path }) => [
        path,
        ...(fromPath === undefined ? [] : [fromPath])
      ])
      return [...new Set([...named, ...others])].toSorted().slice(0, NAMES)
    }),

    forget: (runId) =>
      Effect.sync(() => {
        rmSync(startFile(runId), { force: true })
        for (const name of existsSync(folder) ? readdirSync(folder) : []) {
          const runs = join(folder, name, "runs")
          const left = existsSync(runs) ? readdirSync(runs) : undefined
          for (const file of left ?? []) if (file.startsWith(`${runId}.`)) rmSync(join(runs, file))
          // Nothing refers to it any more: the next run of that workspace makes it anew.
          if (left?.every((file) => file.startsWith(`${runId}.`)) === true)
            rmSync(join(folder, name), { recursive: true, force: true })
        }
      }),

    diff: Effect.fnUntraced(function* (runId, root, position = "", limit) {
      const shadow = repository(root)
      const missing = new NotFound({
        message: "There is no snapshot of the workspace from the start of this run."
      })
      if (shadow === undefined || !existsSync(shadow.fileOf(runId, "before"))) return yield* missing
      const page = Effect.gen(function* () {
        const comparison = recorded(shadow, runId) ?? (yield* current(shadow, runId))
        const files = comparison.files.filter(({ path }) => path > position).slice(0, limit)
        const { additions, deletions } = summary(comparison.files)
        return { additions, deletions, items: yield* hunks(shadow, comparison, files) }
      })
      return yield* page.pipe(
        Effect.tapError(({ message }) => Effect.logWarning(`a diff could not be made: ${message}`)),
        Effect.mapError(() => missing)
      )
    })
  })
}

const isSameFile = (one: string, other: string): boolean => {
  const [a, b] = [statSync(one, { bigint: true }), statSync(other, { bigint: true })]
  return a.dev === b.dev && a.ino === b.ino
}

/** Writes a file; gives when that was, in nanoseconds of the file system's clock. */
const touched = (file: string): bigint => {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  writeFileSync(file, "", { mode: 0o600 })
  return statSync(file, { bigint: true }).ctimeNs
}

const summary = (files: ReadonlyArray<ChangedFile>): DiffSummary => ({
  files: files.length,
  additions: files.reduce((sum, file) => sum + file.additions, 0),
  deletions: files.reduce((sum, file) => sum + file.deletions, 0)
})

/** As many whole hunks as fit. */
const cutHunks = (hunks: FileDiff["hunks"]): FileDiff["hunks"] => {
  let lines = 0
  const end = hunks.findIndex((hunk) => (lines += hunk.lines.length) > HUNK_LINES)
  return end === -1 ? hunks : hunks.slice(0, end)
}
