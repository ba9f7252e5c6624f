/**
 * Covers over the sockets, pipes and devices that a run would see: its mounts, with each of them hidden.
 *
 * Guarantees: a run with more of them than can be covered does not start. One whose folders could not be searched completely says so.
 */
import { Effect } from "effect"
import type { NetworkUser } from "../network/RunNetwork.ts"
import { isWithin } from "../workspace/PathContainment.ts"
import { inSteps } from "./InSteps.ts"
import { inOrder, type Mount } from "./Mount.ts"
import type { LargeFolders } from "./LargeFolders.ts"
import type { SearchedTrees, SpecialFiles } from "./SpecialFiles.ts"

const MAX_COVERS = 512

const INCOMPLETE =
  "Sockets and pipes in the folders of this run are covered, but not all folders could be searched: they have too many files, or cannot be listed. A program of this machine may be reachable through one of the others."

export interface CoveredRun {
  /** Its folder. */
  readonly workspace: string
  readonly mounts: ReadonlyArray<Mount>
  /** Mounts of the system's folders. */
  readonly system: ReadonlyArray<Mount>
  /** The run's temporary folder, which is new. */
  readonly temporary: string | undefined
  readonly report: NetworkUser["report"]
}

/** Mounts of folders that exist outside of the run under the same path. */
const ownMounts = ({ mounts, system, temporary }: CoveredRun): ReadonlyArray<Mount> => {
  const ofSystem = new Set(system)
  return mounts.filter(
    (mount) =>
      (mount.kind === "read" || mount.kind === "write") &&
      mount.source === undefined &&
      mount.path !== temporary &&
      !ofSystem.has(mount)
  )
}

/** Whether the run sees, at this path, what is there outside. */
const isSeen = (ordered: ReadonlyArray<Mount>, path: string): boolean => {
  const mount = ordered.findLast((each) => isWithin(each.path, path))
  return (
    mount !== undefined && (mount.kind === "read" || mount.kind === "write") && mount.source === undefined
  )
}

/** What is searched: completely where programs of this machine work, such as the workspace, and toolchains as far as they are small. */
const searchedTrees = (run: CoveredRun): SearchedTrees => {
  const mounts = ownMounts(run)
  const isWork = ({ kind, path }: Mount) => kind === "write" || isWithin(run.workspace, path)
  return {
    all: mounts.filter(isWork).map(({ path }) => path),
    small: mounts.filter((mount) => !isWork(mount)).map(({ path }) => path),
    listed: run.system.map(({ path }) => path)
  }
}

/** Searches of an Edge. */
export interface SpecialFileSearches {
  readonly files: SpecialFiles
  readonly large: LargeFolders
}

/** The mounts with the covers. Fails with a phrase. */
export const coverSpecialFiles = Effect.fnUntraced(function* (
  { files, large }: SpecialFileSearches,
  run: CoveredRun
): Effect.fn.Return<ReadonlyArray<Mount>, string> {
  const { mounts, report } = run
  const near = yield* inSteps(files.search(searchedTrees(run)))
  const far = yield* large.lookUp(near.large)
  if (!near.isComplete || !far.isComplete) report("special-files", INCOMPLETE)
  const ordered = inOrder(mounts)
  const covers = [...near.paths, ...far.paths]
    .filter((path) => isSeen(ordered, path))
    .map((path) => ({ kind: "hidden_file", path }) as const)
  if (covers.length > MAX_COVERS)
    return yield* Effect.fail(
      `its folders have ${covers.length} sockets and pipes, and up to ${MAX_COVERS} can be covered. Remove those that no program uses.`
    )
  return [...mounts, ...covers]
})
