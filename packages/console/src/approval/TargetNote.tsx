/** Why a decision would not reach the run now: its device is not connected, was revoked, or is not the project's any more. */
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import { useQuery } from "@tanstack/react-query"
import { hub, HubRefusal } from "../api/Hub.ts"
import { oneLine } from "../markdown/visible.ts"
import { useWords } from "../text/Language.tsx"
import { approvalWords } from "./messages.ts"
import "./approval.css"

export const TargetNote = ({ approval: { targetId } }: { readonly approval: HubApproval }) => {
  const words = useWords(approvalWords)
  const { data: device, error } = useQuery({
    queryKey: ["devices", "one", targetId],
    queryFn: ({ signal }) => hub.devices.get({ params: { id: targetId }, signal })
  })
  const name = oneLine(device?.name ?? "", 100)
  const isGone = error instanceof HubRefusal && error.code === "permission_denied"
  const sentence = isGone
    ? words.targetGone
    : device?.state === "revoked"
      ? words.targetRevoked(name)
      : device?.state === "offline"
        ? words.targetOffline(name)
        : undefined
  return (
    <p role="status" className={sentence === undefined ? "hidden" : "target-note"}>
      {sentence}
    </p>
  )
}
