/** Stops runs. What they have done is kept. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"

export const useStop = () => {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (ids: ReadonlyArray<HubRun["id"]>) =>
      Promise.all(ids.map((id) => hubApi.runs.cancel({ params: { id } }))),
    onSettled: () => client.invalidateQueries({ queryKey: ["runs"] })
  })
}
