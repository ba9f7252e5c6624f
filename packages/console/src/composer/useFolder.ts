/** Entries of a folder in a workspace, for completion. */
import type { FileEntry } from "@corral/domain/device/Workspace"
import type { DeviceId, ProjectId, WorkspaceId } from "@corral/domain/identity/Ids"
import { useQuery } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"

/** The workspace of the agent that receives the message. */
export interface MentionPlace {
  readonly projectId: ProjectId
  readonly targetId: DeviceId
  readonly workspace: WorkspaceId
  readonly targetName: string
  readonly isOnline: boolean
}

const PAGE = 200
/** Most pages of one folder. */
const MAX_PAGES = 5

const readFolder = async (
  { projectId, targetId, workspace }: MentionPlace,
  path: string,
  signal: AbortSignal
): Promise<ReadonlyArray<FileEntry>> => {
  const found: Array<FileEntry> = []
  let cursor: string | null = null
  for (let page = 0; page < MAX_PAGES; page++) {
    const { items, nextCursor }: { items: ReadonlyArray<FileEntry>; nextCursor: string | null } =
      await hubApi.files.folder({
        params: { id: targetId, workspace },
        query: {
          projectId,
          limit: PAGE,
          ...(path === "" ? {} : { path }),
          ...(cursor === null ? {} : { cursor })
        },
        signal
      })
    found.push(...items)
    if (nextCursor === null) break
    cursor = nextCursor
  }
  return found
}

/** Reads nothing without a path, and from an offline device. */
export const useFolder = (place: MentionPlace | undefined, path: string | undefined) =>
  useQuery({
    queryKey: ["files", "folder", place?.projectId, place?.targetId, place?.workspace, path],
    queryFn: ({ signal }) =>
      place === undefined || path === undefined ? [] : readFolder(place, path, signal),
    enabled: place?.isOnline === true && path !== undefined,
    staleTime: 30_000,
    retry: false
  })
