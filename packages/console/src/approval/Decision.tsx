/** A decision on its way to the Hub: the mutation that sends it, and the message where it is rejected. */
import { CorralError } from "@corral/client/http/CorralError"
import type { DecideHubApproval, HubApproval } from "@corral/domain/hub-api/HubRun"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { hubApi, useIdempotencyKey } from "../api/Hub.ts"
import { useMessages } from "../text/Language.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { approvalMessages } from "./messages.ts"

export type DecisionMutation = ReturnType<typeof useDecide>

/** What follows a decision, also where the change feed has closed the request, and what showed it is gone, before the Hub's response is here. */
interface DecisionSteps {
  /** The user has decided, and the Hub does not know yet. */
  readonly onSend?: () => void
  readonly onSent?: (decided: HubApproval) => void
}

/** Mutation that sends a decision. A retry has the same idempotency key. */
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

/** Message for a rejected decision. Other errors are shown as everywhere. */
export const DecisionNote = ({ error }: { readonly error: Error | null }) => {
  const messages = useMessages(approvalMessages)
  if (!(error instanceof CorralError)) return <RefusalNote error={error} />
  const sentence =
    error.code === "approval_already_resolved"
      ? messages.already
      : error.code === "approval_expired"
        ? messages.tooLate
        : error.code === "target_offline"
          ? error.details["outcome"] === "unknown"
            ? messages.unknownOutcome
            : messages.offline
          : undefined
  if (sentence === undefined) return <RefusalNote error={error} />
  return (
    <div className="refusal" role="alert">
      <p>{sentence}</p>
      {error.requestId !== undefined && (
        <p className="quiet">
          <code>{error.requestId}</code>
        </p>
      )}
    </div>
  )
}
