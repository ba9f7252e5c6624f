/**
 * Comparison of a group's undecided changes, by file, and decisions about them: which part of which change set, and what the last one led to.
 *
 * Guarantees: no file moves under a reader who has opened one. The page says that the changes are others now, and loads them when the reader
 * wants it. Without an open file, it loads them by itself.
 */
import { CorralError } from "@corral/client/http/CorralError"
import type { ChangeHunk, ChangeSelection, ChangeSet } from "@corral/domain/edge-api/ChangeSet"
import type { GroupComparison, TaskGroup } from "@corral/domain/hub-api/TaskGroups"
import type { RunId, TaskGroupId } from "@corral/domain/identity/Ids"
import { useQuery, useQueryClient } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { taskGroupQuery } from "../api/RunsAndGroups.ts"
import { type DecidedPart, selectionOf } from "../review/setFiles.ts"
import { ALL, type Decision, useDecide } from "../review/useDecide.ts"

/** Versions of the undecided changes of candidates whose turn has ended, as their Edge has reported them. */
const reportedVersions = ({ candidates }: Pick<TaskGroup, "candidates">): ReadonlyArray<string> =>
  candidates.flatMap(({ changes }) =>
    changes === undefined || changes.live || changes.state !== "open" ? [] : [changes.version]
  )

const comparedVersions = ({ candidates }: GroupComparison): ReadonlyArray<string> =>
  candidates.map(({ version }) => version).filter((version) => version !== undefined)

/** Refusals that may not come again. */
const mayPass: ReadonlySet<CorralError["code"]> = new Set(["internal", "overloaded", "unreachable"] as const)

/** The undecided changes, by file. */
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

/** Equal changes of two candidates have equal ids. */
const keyOf = (runId: RunId, id: string): string => `${runId} ${id}`

export type GroupDecisions = ReturnType<typeof useGroupDecisions>

export const useGroupDecisions = (id: TaskGroupId, reload: () => Promise<unknown>) => {
  const client = useQueryClient()
  const reloadAll = async () => {
    await Promise.all([reload(), client.invalidateQueries({ queryKey: taskGroupQuery(id).queryKey })])
  }
  const { pending, send, ...deciding } = useDecide(id, { forget: () => undefined, reload: reloadAll })
  const idOf = ({ file, hunkId }: DecidedPart): string => hunkId ?? file.parts?.changed.id ?? ""
  const decide = (kind: "accept" | "reject", runId: RunId, part: DecidedPart, comment?: string): void => {
    const changed = part.file.parts?.changed
    if (changed === undefined) return
    send({ runId, kind, parts: selectionOf(part, changed), keys: [keyOf(runId, idOf(part))], comment })
  }
  return {
    ...deciding,
    reload: reloadAll,
    decide,
    /** Rejects the parts of a refused acceptance. */
    rejectParts: (runId: RunId, parts: ChangeSelection) => send({ runId, kind: "reject", parts, keys: [] }),
    decideAll: (
      kind: "accept" | "reject",
      { runId, version }: Pick<ChangeSet, "runId" | "version">,
      more: Pick<Decision, "comment" | "onDecided"> = {}
    ) => send({ runId, kind, parts: { all: true as const, version }, keys: [keyOf(runId, ALL)], ...more }),
    pendingAll: (runId: RunId) => pending.get(keyOf(runId, ALL)),
    /** What is on its way about the part, its file or everything. */
    pendingOf: (runId: RunId, { file, hunkId }: { file: DecidedPart["file"]; hunkId?: ChangeHunk["id"] }) =>
      (hunkId === undefined ? undefined : pending.get(keyOf(runId, hunkId))) ??
      pending.get(keyOf(runId, file.parts?.changed.id ?? "")) ??
      pending.get(keyOf(runId, ALL))
  }
}
