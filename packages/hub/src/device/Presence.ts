/** Presence of a device, by its lease. A revoked device never comes back. */
import type { DeviceState } from "@corral/domain/device/Device"

export interface Lease {
  readonly revoked_at: Date | null
  readonly lease_until: Date | null
}

/** `now` in Unix milliseconds. */
export const deviceStateOf = ({ lease_until, revoked_at }: Lease, now: number): DeviceState =>
  revoked_at !== null ? "revoked" : lease_until !== null && lease_until.getTime() > now ? "online" : "offline"
