/** Groups of candidates: what a group has so far, and commands to all of its candidates. */
import type { TaskGroup } from "@corral/domain/hub-api/TaskGroups"
import type { TaskGroupId, TaskId } from "@corral/domain/identity/Ids"
import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query"
import { hubApi, useIdempotencyKey } from "./Hub.ts"

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
