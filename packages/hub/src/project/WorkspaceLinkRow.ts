/** Codec of the table `workspace_links`. */
import { DeviceId, UserId, WorkspaceId } from "@corral/domain/identity/Ids"
import type { WorkspaceLink } from "@corral/domain/project/Project"
import { Schema } from "effect"
import { storedRows, Timestamp } from "../store/StoredRows.ts"

const WorkspaceLinkRow = Schema.Struct({
  /** A `bigint`, as text. */
  seq: Schema.String,
  target_id: DeviceId,
  workspace: WorkspaceId,
  added_by: UserId,
  added_at: Timestamp
})

export const WORKSPACE_LINK_COLUMNS = "seq::text AS seq, target_id, workspace, added_by, added_at"

export const workspaceLinkRows = storedRows("workspace_links", WorkspaceLinkRow)

/** A link with its position in the list. */
export interface PlacedLink extends WorkspaceLink {
  readonly place: string
}

export const placedLinkOf = ({
  added_at,
  added_by,
  seq,
  target_id,
  workspace
}: typeof WorkspaceLinkRow.Type): PlacedLink => ({
  place: seq,
  targetId: target_id,
  workspace,
  addedBy: added_by,
  addedAt: added_at.toISOString()
})

/** The link without its position. */
export const linkOf = ({ addedAt, addedBy, targetId, workspace }: PlacedLink): WorkspaceLink => ({
  targetId,
  workspace,
  addedBy,
  addedAt
})
