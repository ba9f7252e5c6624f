/**
 * Audit page: records of a project for its admins, or the user's own records, as sentences or as a table. The filter is in the URL. A button
 * verifies the hash chain of a project's log.
 */
import { pathOf } from "@corral/client/http/Endpoints"
import { hubPaths } from "@corral/client/hubPaths"
import type { AuditRecord, DecisionDetails } from "@corral/domain/access/Audit"
import { auditActionNames } from "@corral/domain/access/AuditAction"
import type { ProjectId } from "@corral/domain/identity/Ids"
import { useMutation } from "@tanstack/react-query"
import { Link, useNavigate } from "@tanstack/react-router"
import { hubApi } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
import { isAtLeast, useProjects } from "../api/ProjectsAndTargets.ts"
import { approvalMessages } from "../approval/messages.ts"
import { useMessages, usePunctuation } from "../text/Language.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { ListMore } from "../ui/ListStates.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { ShortId } from "../ui/Copy.tsx"
import { StateBadge } from "../ui/StateBadge.tsx"
import { Time } from "../ui/Time.tsx"
import { pickSearchParams } from "../ui/searchParams.ts"
import { AuditList } from "./AuditList.tsx"
import { auditMessages } from "./messages.ts"
import "./audit.css"

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

/** Table of audit records. On a narrow screen it scrolls sideways, also by keyboard. */
const AuditTable = ({ records }: { readonly records: ReadonlyArray<AuditRecord> }) => {
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

/** Button that verifies the hash chain of a project's audit log and shows the result. */
const VerifyChain = ({ projectId }: { readonly projectId: ProjectId }) => {
  const messages = useMessages(auditMessages)
  const verify = useMutation({ mutationFn: () => hubApi.audit.verify({ query: { projectId } }) })
  const { data } = verify
  return (
    <>
      <button type="button" className="button" disabled={verify.isPending} onClick={() => verify.mutate()}>
        {messages.verify}
      </button>
      <span
        role="status"
        className={data === undefined ? "hidden" : data.ok ? "verdict good" : "verdict bad"}
      >
        {data === undefined
          ? ""
          : data.ok
            ? messages.verified(data.checked)
            : messages.broken(data.brokenAtSeq ?? data.checked)}
      </span>
      <RefusalNote error={verify.error} />
    </>
  )
}

interface Filter {
  readonly projectId?: string
  readonly actor?: string
  readonly action?: string
  /** Value of a local date-time input. */
  readonly from?: string
  readonly to?: string
  /** `table` for auditors; sentences otherwise. */
  readonly view?: string
}

const names = ["projectId", "actor", "action", "from", "to", "view"] as const

/** Query of the Hub. Times include the time zone. */
const queryOf = ({ action, actor, from, projectId, to }: Filter) => {
  // The URL may contain anything.
  const knownAction = auditActionNames.find((name) => name === action)
  const time = (name: "from" | "to", local: string | undefined) =>
    local === undefined || Number.isNaN(Date.parse(local)) ? {} : { [name]: new Date(local).toISOString() }
  return {
    ...(actor === undefined ? {} : { actor }),
    ...(knownAction === undefined ? {} : { action: knownAction }),
    ...time("from", from),
    ...time("to", to),
    ...(projectId === undefined ? {} : { projectId: projectId as ProjectId })
  }
}

interface FilterBarProps {
  readonly filter: Filter
  readonly onApply: (filter: Filter) => void
}

/** Filters of free text and time, in a fold. They apply together. */
const MoreFilters = ({ filter, onApply }: FilterBarProps) => {
  const messages = useMessages(auditMessages)
  const { actor, from, to } = filter
  return (
    <details className="audit-more" open={actor !== undefined || from !== undefined || to !== undefined}>
      <summary>{messages.moreFilters}</summary>
      <form
        className="filters"
        onSubmit={(event) => {
          event.preventDefault()
          const form = new FormData(event.currentTarget)
          onApply({
            ...filter,
            ...Object.fromEntries(["actor", "from", "to"].map((name) => [name, textIn(form, name)]))
          })
        }}
      >
        <Field label={messages.actor}>
          <input name="actor" defaultValue={actor} maxLength={200} spellCheck={false} />
        </Field>
        <Field label={messages.from}>
          <input type="datetime-local" name="from" defaultValue={from} />
        </Field>
        <Field label={messages.to}>
          <input type="datetime-local" name="to" defaultValue={to} />
        </Field>
        <button type="submit" className="button">
          {messages.filter}
        </button>
      </form>
    </details>
  )
}

const FilterBar = ({ filter, onApply }: FilterBarProps) => {
  const messages = useMessages(auditMessages)
  const projects = useProjects().filter(({ role }) => isAtLeast(role, "admin"))
  const isDecisions = filter.action === "approval.decide"
  const action = auditActionNames.find((name) => name === filter.action) ?? ""
  return (
    <div className="audit-filters" role="group" aria-label={messages.filter}>
      <select
        aria-label={messages.project}
        value={filter.projectId ?? ""}
        onChange={({ currentTarget: { value } }) => onApply({ ...filter, projectId: value })}
      >
        <option value="">{messages.own}</option>
        {projects.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
      <button
        type="button"
        className="button"
        aria-pressed={isDecisions}
        onClick={() => onApply({ ...filter, action: isDecisions ? "" : "approval.decide" })}
      >
        {messages.onlyDecisions}
      </button>
      <select
        aria-label={messages.action}
        value={action}
        onChange={({ currentTarget: { value } }) => onApply({ ...filter, action: value })}
      >
        <option value="">{messages.everyAction}</option>
        {auditActionNames.map((each) => (
          <option key={each} value={each}>
            {messages.actions[each]}
          </option>
        ))}
      </select>
      <button
        type="button"
        className="button"
        onClick={() => onApply({ ...filter, view: filter.view === "table" ? "" : "table" })}
      >
        {filter.view === "table" ? messages.asSentences : messages.asTable}
      </button>
      {/* Remounts when the filter changes, so that the inputs show it. */}
      <MoreFilters key={JSON.stringify(filter)} {...{ filter, onApply }} />
    </div>
  )
}

const ChainActions = ({ projectId }: { readonly projectId: ProjectId }) => {
  const messages = useMessages(auditMessages)
  return (
    <>
      <a className="button" href={pathOf(hubPaths.audit.export[1], { query: { projectId } })} download>
        {messages.export}
      </a>
      <VerifyChain key={projectId} projectId={projectId} />
    </>
  )
}

export const AuditPage = ({ filter }: { readonly filter: Filter }) => {
  const messages = useMessages(auditMessages)
  const navigate = useNavigate()
  const query = queryOf(filter)
  const list = useList(["audit", "list", query], ({ page, signal }) =>
    hubApi.audit.list({ query: { ...query, ...page }, signal })
  )
  const apply = (next: Filter) =>
    void navigate({ to: "/audit", search: pickSearchParams(...names)({ ...next }), replace: true })
  return (
    <PageFrame
      title={messages.title}
      actions={query.projectId !== undefined && <ChainActions projectId={query.projectId} />}
    >
      <p className="page-hint">{query.projectId === undefined ? messages.ownHint : messages.hint}</p>
      <FilterBar filter={filter} onApply={apply} />
      {filter.view === "table" ? <AuditTable records={list.items} /> : <AuditList records={list.items} />}
      <ListMore
        list={list}
        empty={
          <>
            <p>{messages.none}</p>
            <p>{messages.noneHint}</p>
          </>
        }
      />
    </PageFrame>
  )
}
