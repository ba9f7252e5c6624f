/** Changes of a layer: its trees, and the files that a person's decision takes out of it. */
import type { ChangesUnknown } from "@corral/domain/errors/Failures"
import type { WorktreeCommit } from "@corral/domain/run/Worktree"
import { Effect } from "effect"
import { type ChangeSource, changeSetIdOf } from "../change/ChangeSource.ts"
import { type LayerRow, patchLayer } from "./LayerRows.ts"
import { type LayerStates, unknownChanges } from "./LayerStates.ts"

export interface LayerSourceOptions {
  readonly row: LayerRow
  readonly states: LayerStates
  /** Stores the result if that is due. */
  readonly settled: Effect.Effect<void, ChangesUnknown>
  /** Takes the result again. */
  readonly capture: Effect.Effect<void, ChangesUnknown>
  readonly commits: Effect.Effect<ReadonlyArray<WorktreeCommit>>
  /** The layer's files, to read and write. */
  readonly withTop: ChangeSource["withView"]
}

export const sourceOfLayer = ({
  capture,
  commits,
  row,
  settled,
  states,
  withTop
}: LayerSourceOptions): ChangeSource => {
  const { conflicts, incomplete, owner, root, runs } = row
  const tree = (found: LayerStates["resultTree"]) => Effect.mapError(found, unknownChanges)
  return {
    setId: changeSetIdOf(owner),
    owner,
    isolation: "overlay",
    root,
    runs,
    shadow: states.shadow,
    trees: Effect.gen(function* () {
      yield* settled
      return { base: yield* tree(states.baseTree), result: yield* tree(states.resultTree), incomplete }
    }),
    capture: Effect.andThen(capture, tree(states.resultTree)),
    conflicts,
    ignored: Effect.sync(() => states.ignored),
    commits,
    withView: withTop,
    replaceBase: (base) => [patchLayer(owner, { base })]
  }
}
