/**
 * What becomes of the private state of a run that has ended: conversations go to the user, everything else is counted.
 *
 * Does not: remove it.
 */
import { type LayerRecord, readRecord } from "./LayerRecord.ts"
import { countFiles } from "./StateFiles.ts"
import { type PathReason, returnConversations } from "./StateReturn.ts"

export interface LayerSettlement {
  /** Number of files that the user has. */
  readonly returned: number
  readonly discarded: number
  /** Files that may not come back. They are among the discarded. */
  readonly refused: ReadonlyArray<PathReason>
  /** Files that could not be taken back, so that the state stays. */
  readonly unreturned: ReadonlyArray<PathReason>
}

const nothing: LayerSettlement = { returned: 0, discarded: 0, refused: [], unreturned: [] }

const settleRecord = async ({ folders, workspace }: LayerRecord): Promise<LayerSettlement> => {
  let total = nothing
  for (const each of folders) {
    const { copied = [], credentials = [] } = each.folder
    const { refused, returned, unreturned } = await returnConversations(each, workspace)
    const accounted = new Set([
      ...returned,
      ...unreturned.map(([path]) => path),
      ...each.received.map(({ path }) => path),
      ...[...copied, ...credentials].map(({ path }) => path)
    ])
    const discarded = await countFiles(each.layer, (path) => !accounted.has(path))
    total = {
      returned: total.returned + returned.length,
      discarded: total.discarded + discarded,
      refused: [...total.refused, ...refused],
      unreturned: [...total.unreturned, ...unreturned]
    }
  }
  return total
}

/** Takes back what a run left. Throws if its record cannot be read. */
export const settleLayer = async (layer: string): Promise<LayerSettlement> => {
  const record = readRecord(layer)
  if (record === undefined) throw new Error("its record cannot be read")
  return record === "missing" ? nothing : settleRecord(record)
}
