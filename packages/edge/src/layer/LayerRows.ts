/**
 * Rows of layers, and their folders in the Edge's home. Pure.
 *
 * Guarantees: a row exists before its layer, so that the next start after a crash can clean up: it removes layers in `making` and `removing`,
 * and leaves `kept` ones.
 */
import type { RunId, TaskGroupId, WorkspaceId } from "@corral/domain/identity/Ids"
import type { LayerMeans, RunLayer } from "@corral/domain/run/Run"
import { join } from "node:path"
import { hasLiveState } from "../store/LiveState.ts"
import type { Store, Write } from "../store/Store.ts"
import { parseStored } from "../store/StoreDamage.ts"

export interface LayerRow {
  readonly owner: RunId
  readonly workspace: WorkspaceId
  /** Real path of the workspace. */
  readonly root: string
  readonly means: LayerMeans
  readonly enforced: boolean
  readonly state: "making" | "kept" | "removing" | "removed"
  /** Runs that worked in it, oldest first. */
  readonly runs: ReadonlyArray<RunId>
  /** The run whose result is stored. */
  readonly captured?: RunId
  /** Tree of the first base, unless it is the state that the layer saw last of the workspace. The row of the change set has a later one. */
  readonly base?: string
  /** Paths that the result does not have. */
  readonly incomplete: ReadonlyArray<string>
  /** Commit at which the repository of the runs started; absent without a repository. */
  readonly commit?: string
  /** The group of the first run. */
  readonly group?: TaskGroupId
  readonly createdAt: string
}

export const layerFolder = (home: string, owner: RunId): string => join(home, "layers", owner)

/** Folders of one layer. */
export const layerPlaces = (folder: string) => ({
  upper: join(folder, "upper"),
  work: join(folder, "work"),
  /** Where the workspace is mounted while the layer is. */
  lower: join(folder, "lower"),
  /** The same for the upper folder of a layer, above which another one is mounted. */
  below: join(folder, "below"),
  copy: join(folder, "copy"),
  /** Name of the place of a checkout. There is none: the files are in the layer. */
  checkout: join(folder, "tree")
})

export const layerOf = ({ enforced, means, owner }: LayerRow): RunLayer => ({ owner, means, enforced })

interface Stored {
  readonly layer: string
}

// This program wrote the row from a value of this type.
const parse = ({ layer }: Stored): LayerRow => parseStored<LayerRow>(layer, "layer")

export const putLayer = (row: LayerRow): Write => [
  "INSERT OR REPLACE INTO layers (owner, state, layer) VALUES (?, ?, ?)",
  row.owner,
  row.state,
  JSON.stringify(row)
]

/** Changed fields of a row. `null` removes one. */
export type LayerChange = Partial<Omit<LayerRow, "captured">> & { readonly captured?: RunId | null }

/** Replaces fields of a row without reading it. */
export const patchLayer = (owner: RunId, fields: LayerChange): Write => [
  "UPDATE layers SET layer = json_patch(layer, ?) WHERE owner = ?",
  JSON.stringify(fields),
  owner
]

export const dropLayer = (owner: RunId): Write => ["DELETE FROM layers WHERE owner = ?", owner]

/** Deletes the row of a removed layer. */
export const forgetLayer = (owner: RunId): Write => [
  "DELETE FROM layers WHERE owner = ? AND state = 'removed'",
  owner
]

export const findLayer = (store: Store["Service"], owner: RunId): LayerRow | undefined => {
  const row = store.get<Stored>("SELECT layer FROM layers WHERE owner = ?", owner)
  return row === undefined ? undefined : parse(row)
}

/** Up to `limit` layers before `before` that are not removed, newest first. */
export const pageOfLayers = (
  store: Store["Service"],
  before: string | undefined,
  limit: number
): ReadonlyArray<LayerRow> =>
  store
    .all<Stored>(
      "SELECT layer FROM layers WHERE state != 'removed' AND owner < ? ORDER BY owner DESC LIMIT ?",
      before ?? "run_~",
      limit
    )
    .map(parse)

/** Layers that an Edge was making or removing. */
export const unsettledLayers = (store: Store["Service"]): ReadonlyArray<LayerRow> =>
  store.all<Stored>("SELECT layer FROM layers WHERE state IN ('making', 'removing')").map(parse)

/** Owners of the layers of live runs. */
export const layersInUse = (store: Store["Service"]): ReadonlySet<string> =>
  new Set(
    store
      .all<{ readonly owner: string | null }>(
        `SELECT json_extract(snapshot, '$.layer.owner') AS owner FROM runs WHERE ${hasLiveState}`
      )
      .flatMap(({ owner }) => (owner === null ? [] : [owner]))
  )
