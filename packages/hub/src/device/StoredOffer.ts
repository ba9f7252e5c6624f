/**
 * Columns of a device's offer in the table `devices`: JSON text that the link has checked before.
 *
 * An offer has up to 256 KiB, so only statements that need it select these columns.
 */
import { Target } from "@corral/domain/device/Device"
import { Schema } from "effect"
import { jsonColumn } from "../store/StoredRows.ts"

export const offerColumns = {
  workspaces: jsonColumn(Target.fields.workspaces),
  agents: jsonColumn(Target.fields.agents),
  /** Null for an Edge that does not list its commands. */
  commands: Schema.NullOr(jsonColumn(Schema.Array(Schema.String)))
}

export interface DeviceOffer extends Pick<Target, "workspaces" | "agents"> {
  /** Supported commands. Those that every Edge supports may be missing. */
  readonly commands: ReadonlyArray<string>
}
