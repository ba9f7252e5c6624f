/** Finishes a run that works in the background: the work is stopped, and the run completes. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"

export const useFinish = () => {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (id: HubRun["id"]) => hubApi.runs.finish({ params: { id } }),
    onSettled: () => {
      void client.invalidateQueries({ queryKey: ["sessions"] })
      return client.invalidateQueries({ queryKey: ["runs"] })
    }
  })
}
