/** Pauses and resumes runs. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"

interface PauseChange {
  readonly ids: ReadonlyArray<HubRun["id"]>
  readonly change: "pause" | "resume"
}

export const usePause = () => {
  const client = useQueryClient()
  return useMutation({
    mutationFn: ({ change, ids }: PauseChange) =>
      Promise.all(ids.map((id) => hubApi.runs[change]({ params: { id } }))),
    onSettled: () => client.invalidateQueries({ queryKey: ["runs"] })
  })
}
