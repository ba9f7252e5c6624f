/**
 * `device.json`: this Edge's device at a Hub, and its Ed25519 key. Mode 0600, replaced atomically.
 *
 * Guarantees: a next key is durable before the Hub receives it, so a crash in between leaves a device that can still prove its identity.
 */
import { PublicKey } from "@corral/domain/device/Device"
import { DeviceId } from "@corral/domain/identity/Ids"
import { Data, Effect, Option, Schema } from "effect"
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto"
import { readFileSync, statSync } from "node:fs"
import { writeDurably } from "../store/PrivateFile.ts"

const privateKey = Schema.String.check(
  Schema.makeFilter((text) => keyOf(text) !== undefined || "Expected an Ed25519 private key")
)

export const DeviceFile = Schema.Struct({
  /** The Hub's public URL, without a slash at the end. It is part of the signed text. */
  hub: Schema.String,
  deviceId: DeviceId,
  name: Schema.String,
  /** PKCS #8 as base64url. */
  privateKey,
  /** The next key. The Hub may know it already. */
  next: Schema.optionalKey(Schema.Struct({ privateKey }))
})
export type DeviceFile = typeof DeviceFile.Type

/** The message is for the user, and names the file. */
export class DeviceFileUnusable extends Data.TaggedError("DeviceFileUnusable")<{
  readonly message: string
}> {}

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(DeviceFile))

function keyOf(text: string): KeyObject | undefined {
  try {
    const key = createPrivateKey({ key: Buffer.from(text, "base64url"), format: "der", type: "pkcs8" })
    return key.asymmetricKeyType === "ed25519" ? key : undefined
  } catch {
    return undefined
  }
}

const ownKey = (text: string): KeyObject => {
  const key = keyOf(text)
  if (key === undefined) throw new Error("a key that was read or made is one")
  return key
}

/** A new private key, PKCS #8 as base64url. */
export const newPrivateKey = (): string =>
  generateKeyPairSync("ed25519").privateKey.export({ format: "der", type: "pkcs8" }).toString("base64url")

/** The public key for the Hub: 32 bytes as base64url. */
export const publicKeyOf = (key: string): string =>
  Schema.decodeUnknownSync(PublicKey)(createPublicKey(ownKey(key)).export({ format: "jwk" }).x)

/** Ed25519 signature of a UTF-8 text, as base64url. */
export const signText = (key: string, text: string): string =>
  sign(null, Buffer.from(text, "utf8"), ownKey(key)).toString("base64url")

/** `undefined` without a file: this Edge has joined no Hub. */
export const readDevice = (file: string): Effect.Effect<DeviceFile | undefined, DeviceFileUnusable> =>
  Effect.try({
    try: () => {
      const stat = statSync(file, { throwIfNoEntry: false })
      if (stat === undefined) return undefined
      if ((stat.mode & 0o077) !== 0) throw new Error(`${file} can be read by others: chmod 600 it`)
      if (process.getuid !== undefined && stat.uid !== process.getuid())
        throw new Error(`${file} belongs to another user`)
      const device = Option.getOrUndefined(decode(readFileSync(file, "utf8")))
      if (device === undefined) throw new Error(`${file} is damaged: delete it, and join the Hub again`)
      return device
    },
    catch: (cause) =>
      new DeviceFileUnusable({ message: cause instanceof Error ? cause.message : String(cause) })
  })

/** Succeeds when the file is durable. */
export const writeDevice = (file: string, device: DeviceFile): Effect.Effect<void, DeviceFileUnusable> =>
  Effect.try({
    try: () => writeDurably(file, `${JSON.stringify(device)}\n`),
    catch: (cause) => new DeviceFileUnusable({ message: `${file} cannot be written: ${String(cause)}` })
  })

/** Stamp of the file, which changes when another program writes it. */
export const stampOf = (file: string): string => {
  const stat = statSync(file, { throwIfNoEntry: false })
  return stat === undefined ? "" : `${stat.ino} ${stat.mtimeMs} ${stat.size} ${stat.mode}`
}
