/** A device that a benchmark links, and its proof. It offers nothing. */
import { challengeText } from "@corral/domain/link/EdgeLink"
import type { DeviceId } from "@corral/domain/identity/Ids"
import { createPrivateKey, sign } from "node:crypto"

export interface SimulatedDevice {
  readonly deviceId: DeviceId
  /** PKCS8 as base64. */
  readonly privateKey: string
}

interface Challenge {
  readonly challenge: string
  readonly hub: string
}

/** What a link proves its device with. */
export const simulatedProof = ({ deviceId, privateKey }: SimulatedDevice, { challenge, hub }: Challenge) => {
  const key = createPrivateKey({ key: Buffer.from(privateKey, "base64"), format: "der", type: "pkcs8" })
  const text = challengeText({ challenge, hub, deviceId })
  return {
    deviceId,
    challenge,
    signature: sign(null, Buffer.from(text), key).toString("base64url"),
    offer: { version: "0.1.0", workspaces: [], agents: [] }
  }
}
