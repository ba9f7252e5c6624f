/** Files of a workspace that match what was typed. */
import type { FileEntry } from "@corral/domain/device/Workspace"
import type { DeviceId, ProjectId, WorkspaceId } from "@corral/domain/identity/Ids"
import { hubApi } from "../api/Hub.ts"
import { type TypedSearch, useTypedSearch } from "../api/useTypedSearch.ts"

/** The workspace of the agent that receives the message. */
export interface MentionPlace {
  readonly projectId: ProjectId
  readonly targetId: DeviceId
  readonly workspace: WorkspaceId
  readonly targetName: string
  readonly isOnline: boolean
}

/** Most entries that are shown. */
const MOST = 50

/** Reads nothing without a query, and from an offline device. A workspace that still loads is searched once it is there. */
export const useFoundFiles = (
  place: MentionPlace | "loading" | undefined,
  query: string | undefined
): TypedSearch<FileEntry> => {
  const workspace = place === "loading" ? undefined : place
  const found = useTypedSearch<FileEntry>(
    ["files", "find", workspace?.projectId, workspace?.targetId, workspace?.workspace],
    workspace?.isOnline === true ? query : undefined,
    (q, signal) =>
      workspace === undefined
        ? Promise.resolve({ items: [] })
        : hubApi.files.find({
            params: { id: workspace.targetId, workspace: workspace.workspace },
            query: { projectId: workspace.projectId, q, limit: MOST },
            signal
          })
  )
  return place === "loading" && query !== undefined ? { ...found, isSearching: true } : found
}
