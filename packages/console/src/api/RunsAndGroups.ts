/**
 * The newest runs of the user, and all that are in progress: for marks of sessions, the board and the palette. Also groups of candidates: what a group
 * has so far, and commands to all of its candidates.
 */
import type { HubRun, HubRunStatus } from "@corral/domain/hub-api/HubRun"
import type { TaskGroup } from "@corral/domain/hub-api/TaskGroups"
import type { TaskGroupId, TaskId } from "@corral/domain/identity/Ids"
import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { hubApi, useIdempotencyKey } from "./Hub.ts"

const NEWEST = 50
/** Most runs of one state that are in progress. */
const MOST = 100

/** Old runs can be in one of these states. Runs that start are among the newest. */
const unfinished: ReadonlyArray<HubRunStatus> = ["queued", "running", "waiting_approval", "waiting_input"]

/** The newest runs, and all in progress. */
export const latestRunsQuery = queryOptions({
  queryKey: ["runs", "latest"],
  queryFn: async ({ signal }): Promise<ReadonlyArray<HubRun>> => {
    const newest = await hubApi.runs.list({ query: { limit: NEWEST }, signal })
    if (newest.nextCursor === null) return newest.items
    const older = await Promise.all(
      unfinished.map((state) => hubApi.runs.list({ query: { limit: MOST, state }, signal }))
    )
    const all = [newest, ...older].flatMap(({ items }) => items)
    return [...new Map(all.map((run) => [run.id, run])).values()]
  }
})

const none: ReadonlyArray<HubRun> = []

/** Empty while they load. */
export const useLatestRuns = (): ReadonlyArray<HubRun> => useQuery(latestRunsQuery).data ?? none

export const taskGroupQuery = (id: TaskGroupId) =>
  queryOptions({
    queryKey: ["taskGroups", "one", id],
    queryFn: ({ signal }) => hubApi.taskGroups.get({ params: { id }, signal })
  })

/** Commands to the candidates in progress. */
export type GroupCommand = "stop" | "pause" | "resume"

const changed = ["taskGroups", "tasks", "runs", "sessions"] as const

/** Stops, pauses or resumes all candidates, or continues with one of them. */
export const useGroupCommands = (id: TaskGroupId) => {
  const client = useQueryClient()
  const keyOf = useIdempotencyKey()
  const store = (group: TaskGroup) => client.setQueryData(taskGroupQuery(id).queryKey, group)
  const onSettled = () => Promise.all(changed.map((group) => client.invalidateQueries({ queryKey: [group] })))
  const command = useMutation({
    mutationFn: (kind: GroupCommand) => hubApi.taskGroups[kind]({ params: { id } }),
    onSuccess: ({ group }) => store(group),
    onSettled
  })
  const continued = useMutation({
    mutationFn: (taskId: TaskId) =>
      hubApi.taskGroups.continue({ params: { id }, headers: keyOf({ id, taskId }), payload: { taskId } }),
    onSuccess: ({ group }) => store(group),
    onSettled
  })
  return { command, continued }
}
