/** Table of audit records. On a narrow screen it scrolls sideways, also by keyboard. */
import type { AuditRecord, DecisionDetails } from "@corral/domain/access/Audit"
import { useMessages, usePunctuation } from "../text/Language.tsx"
import { ShortId } from "../ui/ShortId.tsx"
import { StateBadge } from "../ui/StateBadge.tsx"
import { Time } from "../ui/Time.tsx"
import { auditMessages } from "./messages.ts"
import { Link } from "@tanstack/react-router"
import { approvalMessages } from "../approval/messages.ts"

/** Summary of an audited decision: decision, scope, edit and origin. */
const DecisionSummary = ({ details }: { readonly details: DecisionDetails }) => {
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

export const AuditTable = ({ records }: { readonly records: ReadonlyArray<AuditRecord> }) => {
  const messages = useMessages(auditMessages)
  if (records.length === 0) return null
  return (
    <div className="table-frame cut-sideways" role="region" aria-label={messages.caption} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">{messages.time}</th>
            <th scope="col">{messages.action}</th>
            <th scope="col">{messages.outcome}</th>
            <th scope="col">{messages.actor}</th>
            <th scope="col">{messages.resource}</th>
            <th scope="col">{messages.request}</th>
          </tr>
        </thead>
        <tbody>
          {records.map(({ action, actor, at, code, details, id, outcome, requestId, resource }) => (
            <tr key={id}>
              <td>
                <Time at={at} />
              </td>
              <td>
                <span title={action}>{messages.actions[action] ?? action}</span>
                {details !== undefined && (
                  <>
                    <br />
                    <DecisionSummary details={details} />
                  </>
                )}
              </td>
              <td>
                <StateBadge state={outcome} /> {code !== null && <code>{code}</code>}
              </td>
              <td>
                <ShortId id={actor} />
              </td>
              <td>
                <ShortId id={resource} />
              </td>
              <td>
                <ShortId id={requestId} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
