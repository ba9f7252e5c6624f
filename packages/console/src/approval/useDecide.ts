/** Sends a decision. The same decision sent again carries the same key, so that it is one. */
import type { DecideHubApproval, HubApproval } from "@corral/domain/hub-api/HubRun"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { useIdempotencyKey } from "../api/IdempotencyKey.ts"

export type DecisionMutation = ReturnType<typeof useDecide>

export const useDecide = (id: HubApproval["id"]) => {
  const client = useQueryClient()
  const headersOf = useIdempotencyKey()
  return useMutation({
    mutationFn: (payload: DecideHubApproval) =>
      hubApi.approvals.decide({ params: { id }, headers: headersOf(payload), payload }),
    // Also after a refusal: somebody else may have decided.
    onSettled: () => client.invalidateQueries({ queryKey: ["approvals"] })
  })
}
