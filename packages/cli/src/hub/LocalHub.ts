/**
 * This machine at the Hub next to its Edge: registered as a device, with a project whose members can use its workspaces, and its terminals
 * signed in, so that the console shows runs started with `--project`.
 *
 * Uses the public API of the Hub as its owner, so that every step is in the audit log. Later changes by the owner, such as another project or a
 * revoked device, are kept. The sign-in is only for the development sign-in, which verifies no identity. Commands use it as long as the Hub
 * runs. The next start continues it, so a terminal that follows a run follows it through a restart. A sign-in at another Hub is kept.
 */
import type { Device } from "@corral/domain/device/Device"
import type { ProjectId, WorkspaceId } from "@corral/domain/identity/Ids"
import { newPrivateKey, publicKeyOf, readDevice, writeDevice } from "@corral/edge/link/DeviceKey"
import { Effect, type Redacted, Schedule } from "effect"
import { randomUUID } from "node:crypto"
import { hostname } from "node:os"
import { refused } from "../CommandFailed.ts"
import { type HubApiClient, connectToHub } from "./HubClient.ts"
import { readRestingSignIn, readSignIn, restSignIn, writeSignIn } from "./SignInFile.ts"

interface LocalSignInOptions {
  /** URL of the Hub from this process, and its public URL. */
  readonly url: string
  readonly publicUrl: string
  /** A sign-in of the owner. */
  readonly token: Redacted.Redacted
}

/** Token of an earlier start, after a stop or without one. */
export const earlierToken = Effect.gen(function* () {
  const earlier = (yield* readSignIn) ?? (yield* readRestingSignIn)
  return earlier?.token
}).pipe(Effect.orElseSucceed(() => undefined))

/** Signs the terminals of this home in until the scope closes. Returns false if they are signed in elsewhere. */
export const signInLocally = Effect.fn("LocalHub.signIn")(function* ({
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

export interface LocalDeviceOptions {
  /** URL of the Hub from this process, and its public URL. */
  readonly url: string
  readonly publicUrl: string
  /** Sign-in of the owner. */
  readonly token: Redacted.Redacted
  readonly file: string
  readonly workspaces: ReadonlyArray<string>
}

const idempotencyHeaders = () => ({ headers: { "idempotency-key": randomUUID() } })
const refusedBecause = ({ message }: { readonly message: string }) => refused(`${message}.`)

/**
 * Tells the Edge, before it starts, where its Hub is now: the Hub may have another port than at its last start. Returns the address before, if it was
 * another one.
 */
export const moveLocalDevice = (file: string, hub: string): Effect.Effect<string | undefined> =>
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

/** Links the workspace. Retries until the Edge has reported it to the Hub, which waits for version checks of the agents. */
const linkWorkspaceWhenKnown = (
  calls: HubApiClient,
  id: ProjectId,
  targetId: Device["id"],
  workspace: WorkspaceId
) =>
  calls.projects.linkWorkspace({ params: { id }, payload: { targetId, workspace } }).pipe(
    Effect.retry({
      while: ({ code }) => code === "conflict",
      schedule: Schedule.spaced("100 millis"),
      times: 300
    })
  )

/** Registers the device and links its workspaces. Returns the first project that the device is shared with, if any. */
export const ensureLocalDevice = Effect.fn("LocalHub.ensureDevice")(function* (options: LocalDeviceOptions) {
  const calls = yield* connectToHub(options.url, options.token)
  const use = Effect.gen(function* () {
    const device = yield* register(calls, options)
    const [id] = device.sharedWith
    if (id === undefined) return undefined
    const project = yield* calls.projects.get({ params: { id } })
    const { items } = yield* calls.projects.workspaces({ params: { id }, query: { limit: MAX_PAGE } })
    const linked = new Set(
      items.filter(({ targetId }) => targetId === device.id).map((each) => each.workspace)
    )
    // Validated by the settings of the Edge.
    const missing = (options.workspaces as ReadonlyArray<WorkspaceId>).filter((each) => !linked.has(each))
    yield* Effect.forEach(missing, (workspace) => linkWorkspaceWhenKnown(calls, id, device.id, workspace))
    return project
  })
  // The sign-in is used only here.
  return yield* Effect.ensuring(use, Effect.ignore(calls.auth.logout()))
})
