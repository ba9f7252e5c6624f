/** This machine as a device of a Hub: of the Hub that it joined, or of the one that `corral up` starts next to its Edge. */
import { type DeviceFile, readDevice } from "@corral/edge/link/DeviceKey"
import { Effect } from "effect"
import { join } from "node:path"
import { type CommandFailed, refused } from "../CommandFailed.ts"
import { corralHome } from "../edge/EdgeLocation.ts"

const DEVICE_FILE = "device.json"
/** File of the device at the Hub next to the Edge. `device.json` next to it belongs to a remote Hub. */
export const LOCAL_DEVICE_FILE = "own-device.json"

const read = (name: string): Effect.Effect<DeviceFile | undefined, CommandFailed> =>
  Effect.flatMap(corralHome, (home) =>
    Effect.mapError(readDevice(join(home, name)), ({ message }) => refused(`${message}.`))
  )

/** `undefined` if this machine is no device. */
export const thisDevice = Effect.flatMap(read(DEVICE_FILE), (joined) =>
  joined === undefined ? read(LOCAL_DEVICE_FILE) : Effect.succeed(joined)
)
