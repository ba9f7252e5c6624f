import type { DeviceId } from "@corral/domain/identity/Ids"

/** A link that was proved. */
export interface DeviceLink {
  readonly deviceId: DeviceId
  readonly generation: number
}
