/** Sends a decision. The same decision sent again carries the same key, so that it is one. */
import type { DecideHubApproval, HubApproval } from "@corral/domain/HubRun"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useRef } from "react"
import { hub } from "../api/Hub.ts"

export const useDecide = (id: HubApproval["id"], onDecided?: (approval: HubApproval) => void) => {
  const client = useQueryClient()
  const keys = useRef(new Map<string, string>())
  return useMutation({
    mutationFn: (payload: DecideHubApproval) => {
      const meant = JSON.stringify(payload)
      const key = keys.current.get(meant) ?? crypto.randomUUID()
      keys.current.set(meant, key)
      return hub.approvals.decide({
        params: { id },
        // A header is text until the Hub has looked at it.
        headers: { "idempotency-key": key as never },
        payload
      })
    },
    onSuccess: (approval) => onDecided?.(approval),
    // Also after a refusal: somebody else may have decided.
    onSettled: () => client.invalidateQueries({ queryKey: ["approvals"] })
  })
}
