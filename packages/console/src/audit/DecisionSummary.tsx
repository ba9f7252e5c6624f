/** Summary of an audited decision: decision, scope, edit and origin. */
import type { DecisionDetails } from "@corral/domain/access/Audit"
import { Link } from "@tanstack/react-router"
import { approvalMessages } from "../approval/messages.ts"
import { useMessages, usePunctuation } from "../text/Language.tsx"
import { auditMessages } from "./messages.ts"

export const DecisionSummary = ({ details }: { readonly details: DecisionDetails }) => {
  const messages = useMessages(auditMessages)
  const approval = useMessages(approvalMessages)
  const { approvalId, decision, edited, origin, scope } = details
  const { comma } = usePunctuation()
  return (
    <span className="quiet">
      <strong>{messages.decisions[decision]}</strong>
      {edited && <> {approval.edited}</>}
      {decision === "allow" && `${comma}${approval.remembered[scope]}`}
      {origin !== "policy" && `${comma}${approval.origins[origin]}`}
      {" · "}
      <Link to="/approvals/$approvalId" params={{ approvalId }}>
        {messages.toApproval}
      </Link>
    </span>
  )
}
