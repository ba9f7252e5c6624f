/** Warning that a decision can't reach the run: its device is disconnected, revoked, or no longer shared with the project. */
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import { useQuery } from "@tanstack/react-query"
import { CorralError } from "@corral/client/http/CorralError"
import { hubApi } from "../api/Hub.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { approvalMessages } from "./messages.ts"
import "./approval.css"

export const TargetNote = ({ approval: { targetId } }: { readonly approval: HubApproval }) => {
  const messages = useMessages(approvalMessages)
  const { data: device, error } = useQuery({
    queryKey: ["devices", "one", targetId],
    queryFn: ({ signal }) => hubApi.devices.get({ params: { id: targetId }, signal })
  })
  const name = visibleLine(device?.name ?? "", 100)
  const isGone = error instanceof CorralError && error.code === "permission_denied"
  const sentence = isGone
    ? messages.targetGone
    : device?.state === "revoked"
      ? messages.targetRevoked(name)
      : device?.state === "offline"
        ? messages.targetOffline(name)
        : undefined
  return (
    <p role="status" className={sentence === undefined ? "hidden" : "target-note"}>
      {sentence}
    </p>
  )
}
