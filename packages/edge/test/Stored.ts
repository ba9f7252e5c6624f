/** The real SQLite store, and the log on it, in a temporary folder that goes with the test. */
import { Effect, Layer } from "effect"
import { join } from "node:path"
import { EdgeEventLog } from "../src/log/EdgeEventLog.ts"
import { Store } from "../src/store/Store.ts"
import { temporaryFolder } from "./Folder.ts"

export const stored = Layer.unwrap(
  Effect.map(temporaryFolder, (folder) => Store.layer(join(folder, "edge.db")))
)

export const logLayer = EdgeEventLog.layer.pipe(Layer.provideMerge(stored))
