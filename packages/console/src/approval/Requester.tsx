/** Who asks, and where the action would happen: agent, device and workspace. One line, so that names that come late move nothing. */
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import { useAgentName, useTargetName } from "../api/ProjectsAndTargets.ts"
import { visibleLine } from "../markdown/visible.ts"
import "./approval.css"

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
