/**
 * Offer of a device as the table `devices` stores it: JSON text that the link has checked before.
 *
 * Plain, without a schema: an offer has up to 256 KiB, and every new task and every page of targets reads offers.
 */
import type { Target } from "@corral/domain/device/Device"

export interface StoredOffer {
  readonly workspaces: string
  readonly agents: string
  /** Null for an Edge that does not list its commands. */
  readonly commands: string | null
}

export interface DeviceOffer extends Pick<Target, "workspaces" | "agents"> {
  /** Supported commands. Those that every Edge supports may be missing. */
  readonly commands: ReadonlyArray<string>
}

export const decodeOffer = ({ agents, commands, workspaces }: StoredOffer): DeviceOffer => ({
  workspaces: JSON.parse(workspaces) as Target["workspaces"],
  agents: JSON.parse(agents) as Target["agents"],
  commands: JSON.parse(commands ?? "[]") as ReadonlyArray<string>
})
