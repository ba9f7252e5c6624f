/** Files of a workspace that match what was typed, a moment after the last key. */
import type { FileEntry } from "@corral/domain/device/Workspace"
import type { DeviceId, ProjectId, WorkspaceId } from "@corral/domain/identity/Ids"
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { useSettled } from "../text/useSettled.ts"

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
const PAUSE_MS = 120

export interface FoundEntries {
  /** While `isSearching`, those of the text before. */
  readonly entries: ReadonlyArray<FileEntry>
  readonly isSearching: boolean
  readonly error: Error | null
}

const none: ReadonlyArray<FileEntry> = []

/** Reads nothing without a query, and from an offline device. */
export const useFoundFiles = (place: MentionPlace | undefined, query: string | undefined): FoundEntries => {
  const settled = useSettled(query, PAUSE_MS)
  const isSearched = place?.isOnline === true && query !== undefined
  const { data, error, isFetching, isPlaceholderData } = useQuery({
    queryKey: ["files", "find", place?.projectId, place?.targetId, place?.workspace, settled],
    queryFn: ({ signal }) =>
      place === undefined || settled === undefined
        ? { items: none }
        : hubApi.files.find({
            params: { id: place.targetId, workspace: place.workspace },
            query: { projectId: place.projectId, q: settled, limit: MOST },
            signal
          }),
    enabled: isSearched && settled !== undefined,
    placeholderData: keepPreviousData,
    staleTime: 10_000,
    retry: false
  })
  const isCurrent = query === settled
  return {
    entries: isSearched ? (data?.items ?? none) : none,
    isSearching: isSearched && (!isCurrent || isPlaceholderData || (data === undefined && isFetching)),
    error: isSearched && isCurrent ? error : null
  }
}
