/** Mutation that sends a decision. A retry has the same idempotency key. */
import type { DecideHubApproval, HubApproval } from "@corral/domain/hub-api/HubRun"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { useIdempotencyKey } from "../api/IdempotencyKey.ts"

export type DecisionMutation = ReturnType<typeof useDecide>

/** `onSend` runs when the user has decided, before the Hub knows. */
export const useDecide = (id: HubApproval["id"], onSend?: () => void) => {
  const client = useQueryClient()
  const headersOf = useIdempotencyKey()
  return useMutation({
    mutationFn: (payload: DecideHubApproval) =>
      hubApi.approvals.decide({ params: { id }, headers: headersOf(payload), payload }),
    onMutate: () => onSend?.(),
    // Also after an error: another user may have decided.
    onSettled: () => client.invalidateQueries({ queryKey: ["approvals"] })
  })
}
