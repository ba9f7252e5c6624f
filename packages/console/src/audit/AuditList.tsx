/** Audit records as sentences, newest first. A record unfolds to its ids and raw fields. */
import type { AuditRecord } from "@corral/domain/access/Audit"
import { Link } from "@tanstack/react-router"
import { approvalMessages } from "../approval/messages.ts"
import { useLanguage, useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Loading } from "../ui/Loading.tsx"
import { StateBadge } from "../ui/StateBadge.tsx"
import { Time } from "../ui/Time.tsx"
import { type AuditNames, auditSentence } from "./auditSentence.ts"
import { auditMessages } from "./messages.ts"
import { useAuditNames } from "./useAuditNames.ts"
import "./audit.css"

const RecordDetails = ({ record }: { readonly record: AuditRecord }) => {
  const messages = useMessages(auditMessages)
  const approval = useMessages(approvalMessages)
  const { action, actor, code, details, projectId, requestId, resource, seq } = record
  const facts: ReadonlyArray<readonly [string, string | number | null]> = [
    [messages.action, action],
    [messages.code, code],
    [messages.actor, actor],
    [messages.resource, resource],
    [messages.projectId, projectId],
    [messages.request, requestId],
    [messages.seq, seq]
  ]
  return (
    <div className="audit-details">
      <dl className="facts">
        {facts.map(([name, value]) =>
          value === null ? null : (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <code>{value}</code>
              </dd>
            </div>
          )
        )}
        {details !== undefined && (
          <div>
            <dt>{messages.decision}</dt>
            <dd>
              {messages.decisions[details.decision]}, {approval.remembered[details.scope]}
              {details.origin !== "policy" && `, ${approval.origins[details.origin]}`}
            </dd>
          </div>
        )}
      </dl>
      {details !== undefined && (
        <Link to="/approvals/$approvalId" params={{ approvalId: details.approvalId }}>
          {messages.toApproval}
        </Link>
      )}
    </div>
  )
}

const RecordRow = ({ names, record }: { readonly names: AuditNames; readonly record: AuditRecord }) => {
  const { language } = useLanguage()
  const { at, outcome } = record
  return (
    <li>
      <details className="audit-record">
        <summary className="audit-line">
          <Icon name="unfold" size={14} />
          <span className="audit-sentence">
            {auditSentence(record, names, language).map((part, index) =>
              typeof part === "string" ? (
                part
              ) : (
                <bdi key={index} className={part.isQuote ? "audit-quote" : undefined}>
                  {part.name}
                </bdi>
              )
            )}
          </span>
          <span className="audit-facts">
            {outcome !== "allowed" && <StateBadge state={outcome} />}
            <Time at={at} />
          </span>
        </summary>
        <RecordDetails record={record} />
      </details>
    </li>
  )
}

export const AuditList = ({ records }: { readonly records: ReadonlyArray<AuditRecord> }) => {
  const messages = useMessages(auditMessages)
  const names = useAuditNames(records)
  if (records.length === 0) return null
  if (names === undefined) return <Loading />
  return (
    <ul className="rows" aria-label={messages.caption}>
      {records.map((record) => (
        <RecordRow key={record.id} {...{ names, record }} />
      ))}
    </ul>
  )
}
