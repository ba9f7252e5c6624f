/** Verified link of a device. A newer link of the same device has a higher `generation`. */
import type { DeviceId } from "@corral/domain/identity/Ids"

export interface DeviceLink {
  readonly deviceId: DeviceId
  readonly generation: number
}
