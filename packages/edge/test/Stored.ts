/** The store and the log of a test: in memory, or on files in a temporary folder that is removed with the test. */
import { Effect, Layer } from "effect"
import { join } from "node:path"
import { EdgeEventLog } from "../src/log/EdgeEventLog.ts"
import { Store } from "../src/store/Store.ts"
import { temporaryFolder } from "./Folder.ts"

export const stored = Layer.unwrap(
  Effect.map(temporaryFolder, (folder) => Store.layer(join(folder, "edge.db")))
)

/** For tests of what the log contains, not of what is on disk. */
export const memoryLogLayer = EdgeEventLog.layer.pipe(Layer.provideMerge(Store.layerMemory))

export const logLayer = EdgeEventLog.layer.pipe(Layer.provideMerge(stored))
