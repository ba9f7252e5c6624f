/**
 * This machine as a device of the Hub that runs beside its Edge, with a project whose members may use its workspaces.
 *
 * Done with the Hub's own calls, in the name of whoever runs it: they are found in the audit like anybody's. What its owner has changed
 * since, another project or a revoked device, is left as it is.
 */
import type { Device } from "@corral/domain/device/Device"
import type { ProjectId, WorkspaceId } from "@corral/domain/identity/Ids"
import { newPrivateKey, publicKeyOf, readDevice, writeDevice } from "@corral/edge/link/DeviceKey"
import { Effect, type Redacted, Schedule } from "effect"
import { randomUUID } from "node:crypto"
import { hostname } from "node:os"
import { refused } from "../CommandFailed.ts"
import { callApi } from "../edge/EdgeClient.ts"
import { connectToHub, type HubApiClient } from "./HubClient.ts"

/** Its name in a Corral home. Beside `device.json`, which is of a Hub elsewhere. */
export const LOCAL_DEVICE_FILE = "own-device.json"
const PROJECT_NAME = "First project"
const MAX_PAGE = 200

export interface LocalDeviceOptions {
  /** Where the Hub is reached from here, and as what devices know it. */
  readonly url: string
  readonly publicUrl: string
  /** Of its owner. */
  readonly token: Redacted.Redacted
  readonly file: string
  readonly workspaces: ReadonlyArray<string>
}

const idempotencyHeaders = () => ({ headers: { "idempotency-key": randomUUID() } })
const refusedBecause = ({ message }: { readonly message: string }) => refused(`${message}.`)

/** The device of that file as the Hub knows it; registered where the Hub does not. */
const register = Effect.fnUntraced(function* (calls: HubApiClient, { file, publicUrl }: LocalDeviceOptions) {
  const held = yield* Effect.mapError(readDevice(file), refusedBecause)
  if (held !== undefined) {
    const known = yield* callApi(calls.devices.get({ params: { id: held.deviceId } })).pipe(
      Effect.catchIf(
        ({ code }) => code === "permission_denied",
        () => Effect.undefined
      )
    )
    if (known?.state === "revoked")
      return yield* refused(
        `This machine was revoked as a device. To register it anew, delete ${file} first.`
      )
    if (known !== undefined) {
      yield* Effect.mapError(writeDevice(file, { ...held, hub: publicUrl }), refusedBecause)
      return known
    }
  }
  const privateKey = newPrivateKey()
  const name = hostname()
  const payload = { name, kind: "edge" as const, publicKey: publicKeyOf(privateKey) }
  const device = yield* callApi(calls.deviceRegistration.register({ ...idempotencyHeaders(), payload }))
  const project = yield* callApi(
    calls.projects.create({ ...idempotencyHeaders(), payload: { name: PROJECT_NAME } })
  )
  const shared = yield* callApi(
    calls.devices.update({ params: { id: device.id }, payload: { sharedWith: [project.id] } })
  )
  yield* Effect.mapError(
    writeDevice(file, { hub: publicUrl, deviceId: device.id, name, privateKey }),
    refusedBecause
  )
  return shared
})

/** Links it once the Edge has told the Hub of it, which takes as long as programs take to say their version. */
const linkWorkspaceWhenKnown = (
  calls: HubApiClient,
  id: ProjectId,
  targetId: Device["id"],
  workspace: WorkspaceId
) =>
  callApi(calls.projects.linkWorkspace({ params: { id }, payload: { targetId, workspace } })).pipe(
    Effect.retry({
      while: ({ code }) => code === "conflict",
      schedule: Schedule.spaced("100 millis"),
      times: 300
    })
  )

/** Makes it so; gives the project, where the device is shared with one. */
export const ensureLocalDevice = Effect.fn("OwnDevice.ownDevice")(function* (options: LocalDeviceOptions) {
  const calls = yield* connectToHub(options.url, options.token)
  const use = Effect.gen(function* () {
    const device = yield* register(calls, options)
    const [id] = device.sharedWith
    if (id === undefined) return undefined
    const project = yield* callApi(calls.projects.get({ params: { id } }))
    const { items } = yield* callApi(
      calls.projects.workspaces({ params: { id }, query: { limit: MAX_PAGE } })
    )
    const linked = new Set(
      items.filter(({ targetId }) => targetId === device.id).map((each) => each.workspace)
    )
    // Branded by the Edge's settings, which took these ids.
    const missing = (options.workspaces as ReadonlyArray<WorkspaceId>).filter((each) => !linked.has(each))
    yield* Effect.forEach(missing, (workspace) => linkWorkspaceWhenKnown(calls, id, device.id, workspace))
    return project
  })
  // The sign-in is for this alone.
  return yield* Effect.ensuring(use, Effect.ignore(callApi(calls.auth.logout())))
})
