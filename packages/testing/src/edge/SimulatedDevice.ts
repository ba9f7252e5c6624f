/** A device that proves itself to a Hub, and offers nothing. For loads of many links. */
import type { DeviceId } from "@corral/domain/identity/Ids"
import { challengeText } from "@corral/domain/link/EdgeLink"
import { newPrivateKey, publicKeyOf } from "@corral/edge/link/DeviceKey"
import { mint } from "@corral/service/Identifiers"
import { createPrivateKey, sign } from "node:crypto"

export interface SimulatedDevice {
  readonly deviceId: DeviceId
  /** PKCS8 as base64url. */
  readonly privateKey: string
}

/** A device with a new key. `publicKey` is for the Hub. */
export const newSimulatedDevice = (): SimulatedDevice & { readonly publicKey: string } => {
  const privateKey = newPrivateKey()
  return { deviceId: mint<DeviceId>("dev", Date.now()), privateKey, publicKey: publicKeyOf(privateKey) }
}

interface Challenge {
  readonly challenge: string
  readonly hub: string
}

/** What a link proves its device with. */
export const simulatedProof = ({ deviceId, privateKey }: SimulatedDevice, { challenge, hub }: Challenge) => {
  const key = createPrivateKey({ key: Buffer.from(privateKey, "base64url"), format: "der", type: "pkcs8" })
  const text = challengeText({ challenge, hub, deviceId })
  return {
    deviceId,
    challenge,
    signature: sign(null, Buffer.from(text), key).toString("base64url"),
    offer: { version: "0.1.0", workspaces: [], agents: [] }
  }
}
