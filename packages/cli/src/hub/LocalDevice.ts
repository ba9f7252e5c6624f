/**
 * Device registration of this machine at the Hub next to its Edge, with a project whose members can use its workspaces.
 *
 * Uses the public API of the Hub as its owner, so that every step is in the audit log. Later changes by the owner, such as another project or
 * a revoked device, are kept.
 */
import type { Device } from "@corral/domain/device/Device"
import type { ProjectId, WorkspaceId } from "@corral/domain/identity/Ids"
import { newPrivateKey, publicKeyOf, readDevice, writeDevice } from "@corral/edge/link/DeviceKey"
import { Effect, type Redacted, Schedule } from "effect"
import { randomUUID } from "node:crypto"
import { hostname } from "node:os"
import { refused } from "../CommandFailed.ts"
import { connectToHub, type HubApiClient } from "./HubClient.ts"

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
export const ensureLocalDevice = Effect.fn("LocalDevice.ensure")(function* (options: LocalDeviceOptions) {
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
