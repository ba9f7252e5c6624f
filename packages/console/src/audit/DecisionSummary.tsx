/** The decision of an audit record in a few words: what, for how long, with changes or without, where. */
import type { DecisionDetails } from "@corral/domain/access/Audit"
import { Link } from "@tanstack/react-router"
import { approvalMessages } from "../approval/messages.ts"
import { useMessages } from "../text/Language.tsx"
import { auditMessages } from "./messages.ts"

export const DecisionSummary = ({ details }: { readonly details: DecisionDetails }) => {
  const messages = useMessages(auditMessages)
  const approval = useMessages(approvalMessages)
  const { approvalId, decision, edited, origin, scope } = details
  return (
    <span className="quiet">
      <strong>{messages.decisions[decision]}</strong>
      {edited && <> {approval.edited}</>}
      {decision === "allow" && <>, {approval.remembered[scope]}</>}
      {origin !== "policy" && <>, {approval.origins[origin]}</>}
      {" · "}
      <Link to="/approvals/$approvalId" params={{ approvalId }}>
        {messages.toApproval}
      </Link>
    </span>
  )
}
