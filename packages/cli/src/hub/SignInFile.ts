/**
 * What a Corral home has of a Hub: the sign-in of the command line, in `hub.json`, with the Hub and the token, and this machine as a device, of the Hub
 * that it joined, or of the one that `corral up` starts next to its Edge.
 *
 * *Guarantees:* the sign-in has mode 0600 and atomic writes. There is at most one, so a command without `--hub` is never ambiguous.
 */
import { UserId } from "@corral/domain/identity/Ids"
import { type DeviceFile, readDevice } from "@corral/edge/link/DeviceKey"
import { fileReason } from "@corral/edge/store/FileReason"
import { makeFolder } from "@corral/service/MakeFolder"
import { Effect, Option, Redacted, Schema } from "effect"
import { chmodSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { type CommandFailed, refused } from "../CommandFailed.ts"
import { corralHome } from "../edge/EdgeLocation.ts"

export const SIGN_IN_FILE = "hub.json"

const SignInRecord = Schema.Struct({
  /** URL of the Hub, without a trailing slash. */
  hub: Schema.String,
  userId: UserId,
  name: Schema.String,
  token: Schema.RedactedFromValue(Schema.String)
})
/** User and Hub of a sign-in. */
export type StoredSignIn = typeof SignInRecord.Type

const text = Schema.fromJsonString(SignInRecord)
const decode = Schema.decodeUnknownOption(text)

/** The sign-in at the Hub of this home's `corral up`, while that Hub is stopped. */
export const RESTING_FILE = "own-sign-in.json"

const fileNamed = (name: string) => Effect.map(corralHome, (home) => join(home, name))
const file = fileNamed(SIGN_IN_FILE)

const readFrom = (path: Effect.Effect<string>): Effect.Effect<StoredSignIn | undefined, CommandFailed> =>
  Effect.flatMap(path, (path) => {
    const read = Effect.try({
      try: () => {
        const stat = statSync(path, { throwIfNoEntry: false })
        return stat === undefined ? undefined : { mode: stat.mode, content: readFileSync(path, "utf8") }
      },
      catch: (cause) => refused(`Can't read ${path}: ${fileReason(cause)}.`)
    })
    return Effect.flatMap(read, (found) => {
      if (found === undefined) return Effect.undefined
      if ((found.mode & 0o077) !== 0)
        return Effect.fail(refused(`Other users can read ${path}. Fix it with \`chmod 600 ${path}\`.`))
      const signIn = Option.getOrUndefined(decode(found.content))
      return signIn === undefined
        ? Effect.fail(refused(`${path} is damaged. Delete it and sign in again with \`corral login\`.`))
        : Effect.succeed(signIn)
    })
  })

/** Reads the sign-in. Returns undefined if there is none. */
export const readSignIn = readFrom(file)

/** Reads a sign-in that rests. */
export const readRestingSignIn = readFrom(fileNamed(RESTING_FILE))

/** Takes the sign-in away from commands, until its Hub starts again. */
export const restSignIn: Effect.Effect<void> = Effect.flatMap(fileNamed(RESTING_FILE), (resting) =>
  Effect.map(file, (path) => {
    if (existsSync(path)) renameSync(path, resting)
  })
)

export const writeSignIn = ({ hub, name, token, userId }: StoredSignIn): Effect.Effect<void, CommandFailed> =>
  Effect.flatMap(file, (path) =>
    Effect.try({
      try: () => {
        makeFolder(dirname(path))
        const temporary = `${path}.${process.pid}`
        rmSync(temporary, { force: true })
        writeFileSync(temporary, `${JSON.stringify({ hub, userId, name, token: Redacted.value(token) })}\n`, {
          mode: 0o600,
          flag: "wx"
        })
        chmodSync(temporary, 0o600)
        renameSync(temporary, path)
      },
      catch: () => refused(`Can't write ${path}.`)
    })
  )

export const deleteSignIn: Effect.Effect<void> = Effect.map(file, (path) => rmSync(path, { force: true }))

const DEVICE_FILE = "device.json"
/** File of the device at the Hub next to the Edge. `device.json` next to it belongs to a remote Hub. */
export const LOCAL_DEVICE_FILE = "own-device.json"

const readDeviceFile = (name: string): Effect.Effect<DeviceFile | undefined, CommandFailed> =>
  Effect.flatMap(corralHome, (home) =>
    Effect.mapError(readDevice(join(home, name)), ({ message }) => refused(`${message}.`))
  )

/**
 * This machine as a device of a Hub: of the Hub that it joined, or of the one that `corral up` starts next to its Edge. `undefined` if this machine is
 * no device.
 */
export const thisDevice = Effect.flatMap(readDeviceFile(DEVICE_FILE), (joined) =>
  joined === undefined ? readDeviceFile(LOCAL_DEVICE_FILE) : Effect.succeed(joined)
)
