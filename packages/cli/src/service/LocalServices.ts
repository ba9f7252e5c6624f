/**
 * Services of `corral up` in this process: an Edge, a Hub with its console, and a Gateway if a bot is configured.
 *
 * With `isEdgeOnly`, or if this machine has joined another Hub, only the Edge starts. Otherwise this machine is at the Hub next to its Edge: registered
 * as a device, with a project whose members can use its workspaces, and its terminals signed in, so that the console shows runs started with `--project`.
 *
 * Uses the public API of the Hub as its owner, so that every step is in the audit log. Later changes by the owner, such as another project or a
 * revoked device, are kept. The sign-in is only for the development sign-in, which verifies no identity. Commands use it as long as the Hub
 * runs. The next start continues it, so a terminal that follows a run follows it through a restart. A sign-in at another Hub is kept.
 */
import type { Device } from "@corral/domain/device/Device"
import type { WorkspaceId } from "@corral/domain/identity/Ids"
import type { EdgeConfig } from "@corral/edge/config/EdgeConfig"
import type { WorkspaceEntry } from "@corral/edge/config/WorkspaceEntries"
import { newPrivateKey, publicKeyOf, readDevice, writeDevice } from "@corral/edge/link/DeviceKey"
import { Effect, Option, Redacted, Schedule } from "effect"
import { randomBytes, randomUUID } from "node:crypto"
import { existsSync } from "node:fs"
import { hostname } from "node:os"
import { join } from "node:path"
import { refused } from "../CommandFailed.ts"
import { fetchEdgeHealth } from "../edge/EdgeClient.ts"
import { locateEdge } from "../edge/EdgeLocation.ts"
import type { EdgeChoice } from "../Flags.ts"
import { type HubApiClient, connectToHub } from "../hub/HubClient.ts"
import {
  LOCAL_DEVICE_FILE,
  readRestingSignIn,
  readSignIn,
  restSignIn,
  writeSignIn
} from "../hub/SignInFile.ts"
import { Host } from "../terminal/Host.ts"
import { withProgress } from "../terminal/Progress.ts"
import type { RunningHub } from "./HubService.ts"
import type { LastingRuns } from "./LiveRunsAtEnd.ts"
import { SAMPLE_ID, ensureSample } from "./SampleWorkspace.ts"

interface LocalSignInOptions {
  /** URL of the Hub from this process, and its public URL. */
  readonly url: string
  readonly publicUrl: string
  /** A sign-in of the owner. */
  readonly token: Redacted.Redacted
}

/** Token of an earlier start, after a stop or without one. */
const earlierToken = Effect.gen(function* () {
  const earlier = (yield* readSignIn) ?? (yield* readRestingSignIn)
  return earlier?.token
}).pipe(Effect.orElseSucceed(() => undefined))

/** Signs the terminals of this home in until the scope closes. Returns false if they are signed in elsewhere. */
const signInLocally = Effect.fn("LocalServices.signIn")(function* ({
  publicUrl,
  token,
  url
}: LocalSignInOptions) {
  const calls = yield* connectToHub(url, token)
  const { user } = yield* calls.auth.me()
  const existing = yield* readSignIn
  // A sign-in of the same user at this Hub is left over from an earlier start.
  if (existing !== undefined && existing.userId !== user.id)
    return yield* Effect.as(Effect.ignore(calls.auth.logout()), false)
  const store = writeSignIn({ hub: publicUrl, userId: user.id, name: user.name, token })
  const rest = Effect.gen(function* () {
    const current = yield* Effect.orElseSucceed(readSignIn, () => undefined)
    if (current?.userId === user.id) yield* restSignIn
  })
  yield* Effect.acquireRelease(store, () => rest)
  return true
})

const PROJECT_NAME = "First project"
const MAX_PAGE = 200

interface LocalDeviceOptions {
  /** URL of the Hub from this process, and its public URL. */
  readonly url: string
  readonly publicUrl: string
  /** Sign-in of the owner. */
  readonly token: Redacted.Redacted
  readonly file: string
  readonly edge: EdgeChoice
  readonly workspaces: ReadonlyArray<string>
}

const idempotencyHeaders = () => ({ headers: { "idempotency-key": randomUUID() } })
const refusedBecause = ({ message }: { readonly message: string }) => refused(`${message}.`)

/**
 * Tells the Edge, before it starts, where its Hub is now: the Hub may have another port than at its last start. Returns the address before, if it was
 * another one.
 */
const moveLocalDevice = (file: string, hub: string): Effect.Effect<string | undefined> =>
  Effect.gen(function* () {
    const stored = yield* readDevice(file)
    if (stored === undefined || stored.hub === hub) return undefined
    yield* writeDevice(file, { ...stored, hub })
    return stored.hub
    // The registration, which comes after the start, says what is wrong with the file.
  }).pipe(Effect.orElseSucceed(() => undefined))

/** Reads the device of this file from the Hub. Registers a new one if the Hub has none. */
const register = Effect.fnUntraced(function* (calls: HubApiClient, { file, publicUrl }: LocalDeviceOptions) {
  const stored = yield* Effect.mapError(readDevice(file), refusedBecause)
  if (stored !== undefined) {
    const registered = yield* calls.devices.get({ params: { id: stored.deviceId } }).pipe(
      Effect.catchIf(
        ({ code }) => code === "permission_denied",
        () => Effect.undefined
      )
    )
    if (registered?.state === "revoked")
      return yield* refused(`This device was revoked. Delete ${file} to register this machine again.`)
    if (registered !== undefined) {
      // An Edge whose file is written again starts its link again.
      if (stored.hub !== publicUrl)
        yield* Effect.mapError(writeDevice(file, { ...stored, hub: publicUrl }), refusedBecause)
      return registered
    }
  }
  const privateKey = newPrivateKey()
  const name = hostname()
  const payload = { name, kind: "edge" as const, publicKey: publicKeyOf(privateKey) }
  const device = yield* calls.deviceRegistration.register({ ...idempotencyHeaders(), payload })
  const project = yield* calls.projects.create({ ...idempotencyHeaders(), payload: { name: PROJECT_NAME } })
  const shared = yield* calls.devices.update({
    params: { id: device.id },
    payload: { sharedWith: [project.id] }
  })
  yield* Effect.mapError(
    writeDevice(file, { hub: publicUrl, deviceId: device.id, name, privateKey }),
    refusedBecause
  )
  return shared
})

/** Link of the Edge in this process as that device, when the Hub has accepted or refused it, or after 30 s. Version checks of the agents come first. */
const settledLink = (edge: EdgeChoice, id: Device["id"]) =>
  Effect.flatMap(locateEdge(edge), (endpoint) =>
    fetchEdgeHealth(endpoint).pipe(
      Effect.map(({ link }) => (link?.deviceId === id ? link : undefined)),
      Effect.repeat({
        until: (link) => link?.state === "linked" || link?.state === "refused",
        schedule: Schedule.spaced("100 millis"),
        times: 300
      })
    )
  )

/**
 * Registers the device, waits for its link, so that a run can start through the Hub at once, and links its workspaces. Returns the first project that
 * the device is shared with, if any.
 */
const ensureLocalDevice = Effect.fn("LocalServices.ensureDevice")(function* (options: LocalDeviceOptions) {
  const host = yield* Host
  const calls = yield* connectToHub(options.url, options.token)
  const use = Effect.gen(function* () {
    const device = yield* register(calls, options)
    const [id] = device.sharedWith
    if (id === undefined) return undefined
    const project = yield* calls.projects.get({ params: { id } })
    const link = yield* settledLink(options.edge, device.id)
    if (link?.state !== "linked") {
      host.warn(`This Edge is not linked to the Hub. ${link?.problem ?? "It still connects."}\n`)
      return project
    }
    const { items } = yield* calls.projects.workspaces({ params: { id }, query: { limit: MAX_PAGE } })
    const linked = new Set(
      items.filter(({ targetId }) => targetId === device.id).map((each) => each.workspace)
    )
    // Validated by the settings of the Edge.
    const missing = (options.workspaces as ReadonlyArray<WorkspaceId>).filter((each) => !linked.has(each))
    yield* Effect.forEach(missing, (workspace) =>
      calls.projects.linkWorkspace({ params: { id }, payload: { targetId: device.id, workspace } })
    )
    return project
  })
  // The sign-in is used only here.
  return yield* Effect.ensuring(use, Effect.ignore(calls.auth.logout()))
})

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
const registerDevice = Effect.fnUntraced(function* (
  hub: RunningHub,
  edge: EdgeChoice,
  file: string,
  workspaces: Workspaces
) {
  const host = yield* Host
  if (hub.owner === undefined) return undefined
  return yield* ensureLocalDevice({
    url: hub.url,
    publicUrl: hub.publicUrl,
    token: yield* hub.ownerToken(),
    file,
    edge,
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
  const ownEdge = { url: Option.some(edge.url), tokenFile: Option.some(config.tokenFile) }
  const project = yield* registerDevice(hub, ownEdge, deviceFile, workspaces)
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
