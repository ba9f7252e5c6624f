/**
 * Who asks, and where the action would happen; and a warning that a decision can't reach the run: its device is disconnected, revoked, or no
 * longer shared with the project.
 */
import { CorralError } from "@corral/client/http/CorralError"
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import { useQuery } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { useAgentName, useTargetName } from "../api/ProjectsAndTargets.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { approvalMessages } from "./messages.ts"
import "./approval.css"

/** Who asks, and where the action would happen: agent, device and workspace. One line, so that names that come late move nothing. */
export const Requester = ({
  approval: { agentId, targetId, workspace }
}: {
  readonly approval: Pick<HubApproval, "agentId" | "targetId" | "workspace">
}) => {
  const agent = useAgentName(targetId, agentId)
  const target = useTargetName(targetId)
  const names = [agent, target, workspace].filter((name) => name !== undefined)
  return (
    <p className="requester">
      <bdi>{names.map((name) => visibleLine(name, 60)).join(" · ")}</bdi>
    </p>
  )
}

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
