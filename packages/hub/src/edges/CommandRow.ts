/** Codec of the table `edge_commands`. */
import { CommandId, CommandOutcome } from "@corral/domain/link/EdgeCommand"
import { DeviceId } from "@corral/domain/identity/Ids"
import { Schema } from "effect"
import { jsonColumn, storedRows } from "../store/StoredRows.ts"

const ClaimedCommandRow = Schema.Struct({
  id: CommandId,
  seq: Schema.String,
  /** JSON. Decoded separately: a command of another version must not hold up the others. */
  command: Schema.String
})
export type ClaimedCommandRow = typeof ClaimedCommandRow.Type

export const claimedCommandRows = storedRows("edge_commands", ClaimedCommandRow)
export const commandIdRows = storedRows("edge_commands", Schema.Struct({ id: CommandId }))
/** Devices with open commands. */
export const openTargetRows = storedRows("edge_commands", Schema.Struct({ id: DeviceId }))
export const insertedRows = storedRows("edge_commands", Schema.Struct({ sent: Schema.Boolean }))
/** `held`: the link is the newest of its device. `done`: the answer was stored. */
export const answeredRows = storedRows(
  "edge_commands",
  Schema.Struct({ held: Schema.Boolean, done: Schema.Boolean })
)
export const commandProgressRows = storedRows(
  "edge_commands",
  Schema.Struct({
    sent: Schema.Boolean,
    /** The schema of the command decodes its `value`. */
    outcome: Schema.NullOr(jsonColumn(CommandOutcome)),
    /** Whether the device is online. */
    online: Schema.NullOr(Schema.Boolean)
  })
)
