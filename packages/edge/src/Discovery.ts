/**
 * Files that say where the Edge of this home is reached, there while it serves, 0600: `edge.json` for the owner's other programs, and an entry
 * among the agent hosts of an editor, where the editor's folder is configured.
 *
 * Guarantees: each file is replaced as a whole, and removed by the Edge that wrote it. Programs that are allowed to read an editor's folder receive a token
 * that opens the agent host only.
 */
import { PROTOCOL_VERSIONS } from "@corral/agent-host/protocol/Messages"
import { Effect, Layer, type Scope } from "effect"
import { createHash } from "node:crypto"
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { EdgeConfig } from "./config/EdgeConfig.ts"
import { EdgeInstance } from "./EdgeInstance.ts"
import { EdgeServer } from "./http/Server.ts"
import { LocalToken } from "./LocalToken.ts"
import { keepFolderPrivate } from "./process/PrivateFolder.ts"

export interface DiscoveryFile {
  readonly url: string
  readonly pid: number
  readonly instanceId: string
  readonly version: string
  /** Path of the token's file, never the token. */
  readonly tokenFile: string
}

const discoveryPath = (home: string): string => join(home, "edge.json")

/** Writes the file, and removes it at the end of the scope. */
const publish = (
  file: string,
  content: DiscoveryFile | AgentHostEntry
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const fresh = `${file}.${process.pid}`
      writeFileSync(fresh, `${JSON.stringify(content)}\n`, { mode: 0o600 })
      renameSync(fresh, file)
    }),
    () =>
      Effect.sync(() => {
        // A successor may have written its own by now.
        if (readFileSync(file, "utf8").includes(content.instanceId)) rmSync(file, { force: true })
      }).pipe(Effect.ignoreCause)
  )

/** Entry of a host in the folder of an editor, as the editor reads it. */
interface AgentHostEntry {
  readonly schemaVersion: 2
  readonly type: "standalone"
  readonly pid: number
  readonly instanceId: string
  readonly protocolVersion: string
  readonly connectionToken: string
  readonly endpoint: { readonly type: "tcp"; readonly host: string; readonly port: number }
}

/** Path of the entry: editors ignore one with another name. */
const entryPath = (folder: string, { instanceId, pid, type }: AgentHostEntry): string =>
  join(folder, `${createHash("sha256").update([type, pid, instanceId].join("\0")).digest("hex")}.json`)

const publishEntry = Effect.fnUntraced(function* (editorFolder: string, instanceId: string) {
  const { port, url } = yield* EdgeServer
  const { editorToken } = yield* LocalToken
  const entry: AgentHostEntry = {
    schemaVersion: 2,
    type: "standalone",
    pid: process.pid,
    instanceId,
    protocolVersion: PROTOCOL_VERSIONS[0] ?? "",
    connectionToken: editorToken,
    endpoint: { type: "tcp", host: new URL(url).hostname.replace(/^\[|\]$/g, ""), port }
  }
  const root = join(editorFolder, "agent-host", "local-endpoint")
  const folder = join(root, "entries")
  yield* Effect.sync(() => {
    keepFolderPrivate(root)
    keepFolderPrivate(folder)
  })
  yield* publish(entryPath(folder, entry), entry)
})

export const discoveryLayer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { editorFolder, home, tokenFile } = yield* EdgeConfig
    const { instanceId, version } = yield* EdgeInstance
    const { url } = yield* EdgeServer
    yield* publish(discoveryPath(home), { url, pid: process.pid, instanceId, version, tokenFile })
    if (editorFolder === undefined) return
    yield* publishEntry(editorFolder, instanceId).pipe(
      // An editor can be configured with the address instead.
      Effect.catchCause((cause) =>
        Effect.logWarning("failed to publish the agent host", { cause, editorFolder })
      )
    )
  })
)
