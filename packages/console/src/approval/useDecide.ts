/** Mutation that sends a decision. A retry has the same idempotency key. */
import type { DecideHubApproval, HubApproval } from "@corral/domain/hub-api/HubRun"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { useIdempotencyKey } from "../api/IdempotencyKey.ts"

export type DecisionMutation = ReturnType<typeof useDecide>

/** What follows a decision, also where the change feed has closed the request, and what showed it is gone, before the Hub's response is here. */
interface DecisionSteps {
  /** The user has decided, and the Hub does not know yet. */
  readonly onSend?: () => void
  readonly onSent?: (decided: HubApproval) => void
}

export const useDecide = (id: HubApproval["id"], { onSend, onSent }: DecisionSteps = {}) => {
  const client = useQueryClient()
  const headersOf = useIdempotencyKey()
  return useMutation({
    mutationFn: (payload: DecideHubApproval) =>
      hubApi.approvals.decide({ params: { id }, headers: headersOf(payload), payload }),
    onMutate: () => onSend?.(),
    onSuccess: (decided) => onSent?.(decided),
    // Also after an error: another user may have decided.
    onSettled: () => client.invalidateQueries({ queryKey: ["approvals"] })
  })
}
