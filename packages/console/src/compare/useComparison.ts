/**
 * Comparison of a group's undecided changes, by file.
 *
 * Guarantees: no file moves under a reader who has opened one. The page says that the changes are others now, and loads them when the reader
 * wants it. Without an open file, it loads them by itself.
 */
import type { GroupComparison, TaskGroup } from "@corral/domain/hub-api/TaskGroups"
import { CorralError } from "@corral/client/http/CorralError"
import { useQuery } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import { hubApi } from "../api/Hub.ts"

/** Versions of the undecided changes of candidates whose turn has ended, as their Edge has reported them. */
const reportedVersions = ({ candidates }: Pick<TaskGroup, "candidates">): ReadonlyArray<string> =>
  candidates.flatMap(({ changes }) =>
    changes === undefined || changes.live || changes.state !== "open" ? [] : [changes.version]
  )

const comparedVersions = ({ candidates }: GroupComparison): ReadonlyArray<string> =>
  candidates.map(({ version }) => version).filter((version) => version !== undefined)

/** Refusals that may not come again. */
const mayPass: ReadonlySet<CorralError["code"]> = new Set(["internal", "overloaded", "unreachable"] as const)

export const useComparison = (group: TaskGroup | undefined, isReading: boolean) => {
  const id = group?.id
  const query = useQuery({
    // Not a key of `taskGroups`: hints must not load the files again.
    queryKey: ["group-comparison", id],
    queryFn: ({ signal }) =>
      id === undefined
        ? Promise.reject(new Error("no group"))
        : hubApi.taskGroups.comparison({ params: { id }, signal }),
    enabled: id !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnMount: "always",
    retry: (count, error) => count < 2 && (!(error instanceof CorralError) || mayPass.has(error.code))
  })
  const { data, dataUpdatedAt, isFetching, isSuccess, refetch } = query
  // What was reported before an answer is in it, or older than it.
  const [seen, setSeen] = useState<{ readonly at: number; readonly versions: ReadonlySet<string> }>({
    at: 0,
    versions: new Set()
  })
  if (data !== undefined && group !== undefined && seen.at !== dataUpdatedAt)
    setSeen({
      at: dataUpdatedAt,
      versions: new Set([...seen.versions, ...comparedVersions(data), ...reportedVersions(group)])
    })
  const isOutdated =
    isSuccess &&
    !isFetching &&
    group !== undefined &&
    reportedVersions(group).some((version) => !seen.versions.has(version))
  const isDue = isOutdated && !isReading
  useEffect(() => {
    if (isDue) void refetch()
  }, [isDue, refetch])
  return { query, comparison: data, isStale: isOutdated && isReading, reload: refetch }
}
