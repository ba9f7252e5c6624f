/** The decision of an audit record in a few words: what, for how long, with changes or without, where. */
import type { DecisionDetails } from "@corral/domain/access/Audit"
import { Link } from "@tanstack/react-router"
import { approvalWords } from "../approval/messages.ts"
import { useWords } from "../text/Language.tsx"
import { auditWords } from "./messages.ts"

export const DecisionSummary = ({ details }: { readonly details: DecisionDetails }) => {
  const words = useWords(auditWords)
  const approval = useWords(approvalWords)
  const { approvalId, decision, edited, origin, scope } = details
  return (
    <span className="quiet">
      <strong>{words.decisions[decision]}</strong>
      {edited && <> {approval.edited}</>}
      {decision === "allow" && <>, {approval.remembered[scope]}</>}
      {origin !== "policy" && <>, {approval.origins[origin]}</>}
      {" · "}
      <Link to="/approvals/$approvalId" params={{ approvalId }}>
        {words.toApproval}
      </Link>
    </span>
  )
}
