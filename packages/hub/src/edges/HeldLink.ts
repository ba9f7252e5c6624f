import type { DeviceId } from "@corral/domain/identity/Ids"

/** A link that was proved. */
export interface HeldLink {
  readonly deviceId: DeviceId
  readonly generation: number
}
