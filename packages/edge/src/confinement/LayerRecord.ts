/**
 * What the Edge knows about the private state of a run, in a file next to it: the next Edge takes back what this one could not.
 *
 * The patterns are in it, because the next Edge may not have the adapter.
 */
import { readFileSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { LayerFolder } from "./StateLayer.ts"

/** Another number means another shape. */
const FORMAT = 1
const NAME = "layer.json"

export interface LayerRecord {
  /** Real path of the run's folder. */
  readonly workspace: string
  /** Conversation of the runtime that the run continues. */
  readonly session: string | undefined
  readonly folders: ReadonlyArray<LayerFolder>
}

export const writeRecord = (layer: string, record: LayerRecord): Promise<void> =>
  writeFile(join(layer, NAME), JSON.stringify({ format: FORMAT, ...record }), { mode: 0o600 })

/** `missing`: the program has not started. `undefined`: it cannot be read. */
export const readRecord = (layer: string): LayerRecord | "missing" | undefined => {
  try {
    // An Edge of this user wrote the file. No run sees it.
    const record = JSON.parse(readFileSync(join(layer, NAME), "utf8")) as LayerRecord & {
      readonly format: number
    }
    return record.format === FORMAT ? record : undefined
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === "ENOENT" ? "missing" : undefined
  }
}
