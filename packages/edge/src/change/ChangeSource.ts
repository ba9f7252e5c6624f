/** Where the changes of a set are: what it is compared with, and where its files can be read and written. */
import { ChangesUnknown } from "@corral/domain/errors/Failures"
import type { ChangeSetId, RunId } from "@corral/domain/identity/Ids"
import type { Run } from "@corral/domain/run/Run"
import type { WorktreeCommit } from "@corral/domain/run/Worktree"
import { Context, Effect } from "effect"
import type { Write } from "../store/Store.ts"
import type { ShadowRepository } from "../workspace/ShadowRepository.ts"

/** Trees of the shadow repository. */
export interface ChangeTrees {
  readonly base: string
  readonly result: string
  /** Paths that could not be compared, relative to the workspace. */
  readonly incomplete: ReadonlyArray<string>
}

/** Ignored files in one folder at the top of a workspace. */
export interface IgnoredFolder {
  readonly folder: string
  readonly count: number
}

export interface ChangeSource {
  readonly setId: ChangeSetId
  readonly owner: RunId
  readonly isolation: NonNullable<Run["isolation"]>
  /** Real path of the workspace. */
  readonly root: string
  /** Runs that worked in it, oldest first. */
  readonly runs: ReadonlyArray<RunId>
  /** Repository with the trees. */
  readonly shadow: ShadowRepository
  /** Reads what is stored; takes the result again if a crash prevented it. */
  readonly trees: Effect.Effect<ChangeTrees, ChangesUnknown>
  /** Takes the result again, after the view was written. Succeeds with its tree. */
  readonly capture: Effect.Effect<string, ChangesUnknown>
  /** Paths where the person's edit and the change overlap. */
  readonly conflicts: ReadonlyArray<string>
  /** Ignored files by top folder, at most 100. */
  readonly ignored: Effect.Effect<ReadonlyArray<IgnoredFolder>>
  /** Commits of the runs, newest first. */
  readonly commits: Effect.Effect<ReadonlyArray<WorktreeCommit>>
  /**
   * The path where the files can be read and written meanwhile. Not while a run of the set is live. Not for git, which would resolve it to the
   * workspace. No part of it is followed if it is a link.
   */
  readonly withView: <A, E>(
    use: (path: string) => Effect.Effect<A, E>
  ) => Effect.Effect<A, E | ChangesUnknown>
  /** Rows that make a tree the base, for the commit that clears the journal. */
  readonly replaceBase: (tree: string) => ReadonlyArray<Write>
}

/** Id of the set whose owner is this run. */
export const changeSetIdOf = (owner: RunId): ChangeSetId =>
  // Both are a prefix and the same characters.
  `chs_${owner.slice("run_".length)}` as ChangeSetId

/** Source of runs in a layer. */
export const OverlaySource = Context.Reference<(run: Run) => Effect.Effect<ChangeSource, ChangesUnknown>>(
  "corral/edge/OverlaySource",
  { defaultValue: () => () => Effect.fail(new ChangesUnknown({ details: { reason: "no_start" } })) }
)
