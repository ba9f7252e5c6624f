/** `edge.json`: where the Edge of this home is reached, for the owner's other programs. There while the Edge serves, 0600. */
import { Effect, Layer } from "effect"
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { EdgeConfig } from "./config/EdgeConfig.ts"
import { EdgeInstance } from "./EdgeInstance.ts"
import { EdgeServer } from "./http/Server.ts"

export interface DiscoveryFile {
  readonly url: string
  readonly pid: number
  readonly instanceId: string
  readonly version: string
  /** Path of the token's file, never the token. */
  readonly tokenFile: string
}

const discoveryPath = (home: string): string => join(home, "edge.json")

export const discoveryLayer = Layer.effectDiscard(
  Effect.gen(function* () {
    const config = yield* EdgeConfig
    const { instanceId, version } = yield* EdgeInstance
    const { url } = yield* EdgeServer
    const file = discoveryPath(config.home)
    const content: DiscoveryFile = {
      url,
      pid: process.pid,
      instanceId,
      version,
      tokenFile: config.tokenFile
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        const fresh = `${file}.${process.pid}`
        writeFileSync(fresh, `${JSON.stringify(content)}\n`, { mode: 0o600 })
        renameSync(fresh, file)
      }),
      () =>
        Effect.sync(() => {
          // A successor may have written its own by now.
          if (readFileSync(file, "utf8").includes(instanceId)) rmSync(file, { force: true })
        }).pipe(Effect.ignoreCause)
    )
  })
)
