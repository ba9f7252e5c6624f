/** Mutation that sends a decision. A retry has the same idempotency key. */
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
    // Also after an error: another user may have decided.
    onSettled: () => client.invalidateQueries({ queryKey: ["approvals"] })
  })
}
