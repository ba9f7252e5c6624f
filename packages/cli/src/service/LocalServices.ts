/**
 * Services of `corral up` in this process: an Edge, a Hub with its console, and a Gateway if a bot is configured.
 *
 * With `isEdgeOnly`, or if this machine has joined another Hub, only the Edge starts.
 */
import type { EdgeConfig } from "@corral/edge/config/EdgeConfig"
import type { WorkspaceEntry } from "@corral/edge/config/WorkspaceEntries"
import { Effect, Option, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { earlierToken, ensureLocalDevice, moveLocalDevice, signInLocally } from "../hub/LocalHub.ts"
import { locateEdge } from "../edge/EdgeLocation.ts"
import { LOCAL_DEVICE_FILE } from "../hub/SignInFile.ts"
import { Host } from "../terminal/Host.ts"
import { withProgress } from "../terminal/Progress.ts"
import type { RunningHub } from "./HubService.ts"
import type { LastingRuns } from "./LiveRunsAtEnd.ts"
import { ensureSample, SAMPLE_ID } from "./SampleWorkspace.ts"

export interface LocalServicesOptions {
  readonly hubPort: number | undefined
  readonly edgePort: number | undefined
  /** Workspaces in addition to the configured ones. */
  readonly workspaces: ReadonlyArray<WorkspaceEntry>
  readonly isEdgeOnly: boolean
}

export interface LocalServices {
  readonly edge: { readonly url: string; readonly runs: LastingRuns }
  readonly config: { readonly tokenFile: string }
  readonly workspaces: ReadonlyArray<WorkspaceEntry>
  readonly hub?: { readonly publicUrl: string; readonly owner: string | undefined }
  readonly gateway?: { readonly url: string } | undefined
  readonly project?: { readonly name: string } | undefined
  /** Whether the terminals of this home are signed in to the Hub. */
  readonly signedIn?: boolean
}

type Workspaces = ReadonlyArray<WorkspaceEntry>

/** Configured and added workspaces, or the sample workspace if there are none. */
const workspacesOf = (config: EdgeConfig, added: Workspaces): Workspaces => {
  const all = [...config.workspaces, ...added]
  return all.length > 0 ? all : [{ id: SAMPLE_ID, path: ensureSample(config.home) }]
}

/** Registers this machine at its Hub and links its workspaces. Prints a warning if that fails. */
const registerDevice = Effect.fnUntraced(function* (hub: RunningHub, file: string, workspaces: Workspaces) {
  const host = yield* Host
  if (hub.owner === undefined) return undefined
  return yield* ensureLocalDevice({
    url: hub.url,
    publicUrl: hub.publicUrl,
    token: yield* hub.ownerToken(),
    file,
    workspaces: workspaces.map(({ id }) => id)
  }).pipe(
    withProgress("connecting the Edge to the Hub"),
    Effect.catch(({ message }) => {
      host.warn(`This Edge is not linked to the Hub. ${message}\n`)
      return Effect.undefined
    })
  )
})

/** Signs the terminals of this home in. Prints a warning if that fails. */
const signInTerminals = Effect.fnUntraced(function* (hub: RunningHub) {
  const host = yield* Host
  const token = yield* hub.ownerToken(yield* earlierToken)
  return yield* signInLocally({ url: hub.url, publicUrl: hub.publicUrl, token }).pipe(
    Effect.catch(({ message }) => {
      host.warn(`The terminals of this home are not signed in to the Hub. ${message}\n`)
      return Effect.succeed(false)
    })
  )
})

/** Starts the Hub, then the Edge as its device, then the Gateway. */
const startWithHub = Effect.fnUntraced(function* (
  edgeConfig: EdgeConfig,
  workspaces: Workspaces,
  hubPort: number | undefined
) {
  const { environment } = yield* Host
  const { startEdge } = yield* Effect.promise(() => import("./EdgeService.ts"))
  const { configureHub, startHub } = yield* Effect.promise(() => import("./HubService.ts"))
  const { checkGatewaySettings, hasBot, startGateway } = yield* Effect.promise(
    () => import("./HubService.ts")
  )
  yield* checkGatewaySettings(environment)
  const hubConfig = yield* configureHub(environment, hubPort)
  const token = Redacted.make(randomBytes(32).toString("base64url"))
  const hub = yield* startHub({
    ...hubConfig,
    gatewayTokens: [...(hubConfig.gatewayTokens ?? []), token]
  }).pipe(withProgress("starting the Hub and its database"))
  const deviceFile = join(edgeConfig.home, LOCAL_DEVICE_FILE)
  const config = { ...edgeConfig, workspaces, deviceFile, hubAddresses: undefined }
  const before = yield* moveLocalDevice(deviceFile, hub.publicUrl)
  const edge = yield* startEdge(config).pipe(
    // Another Edge in this home continues with its Hub.
    Effect.tapError(() => (before === undefined ? Effect.void : moveLocalDevice(deviceFile, before))),
    withProgress("starting the Edge")
  )
  const gateway = hasBot(environment)
    ? yield* startGateway(environment, { url: hub.publicUrl, token, databaseUrl: hub.databaseUrl })
    : undefined
  const project = yield* registerDevice(hub, deviceFile, workspaces)
  const signedIn = project === undefined ? false : yield* signInTerminals(hub)
  return { edge, config, workspaces, hub, gateway, project, signedIn } satisfies LocalServices
})

/** Whether an Edge of this home answers. */
const isEdgeRunning = locateEdge({ url: Option.none(), tokenFile: Option.none() }).pipe(
  Effect.as(true),
  Effect.orElseSucceed(() => false)
)

/** Starts the services. They stop when the scope closes. */
export const startLocalServices = Effect.fn("LocalServices.start")(function* (options: LocalServicesOptions) {
  const { environment } = yield* Host
  // Loaded on demand: other commands start faster without the services.
  const { configureEdge, homeFailed, homeInUse, startEdge } = yield* Effect.promise(
    () => import("./EdgeService.ts")
  )
  const config = yield* configureEdge(environment, options.edgePort)
  // Before a second Hub starts. The lock of the Edge guarantees it.
  if (yield* isEdgeRunning) return yield* homeInUse(config.home)
  const workspaces = yield* Effect.try({
    try: () => workspacesOf(config, options.workspaces),
    catch: (cause) => homeFailed(config.home, cause)
  })
  const hasJoinedHub = existsSync(join(config.home, "device.json"))
  if (!options.isEdgeOnly && !hasJoinedHub) return yield* startWithHub(config, workspaces, options.hubPort)
  const edge = yield* startEdge({ ...config, workspaces }).pipe(withProgress("starting the Edge"))
  return { edge, config, workspaces } satisfies LocalServices
})
