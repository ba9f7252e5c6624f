/** Audit page: records of a project for its admins, or the user's own records, as sentences or as a table. The filter is in the URL. */
import { auditActionNames } from "@corral/domain/access/AuditAction"
import type { ProjectId } from "@corral/domain/identity/Ids"
import { useNavigate } from "@tanstack/react-router"
import { pathOf } from "@corral/client/http/Endpoints"
import { hubPaths } from "@corral/client/hubPaths"
import { hubApi } from "../api/Hub.ts"
import { isAtLeast, useProjects } from "../api/ProjectsAndTargets.ts"
import { useList } from "../api/Lists.ts"
import { pickSearchParams } from "../ui/searchParams.ts"
import { useMessages } from "../text/Language.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { ListMore } from "../ui/ListMore.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { AuditList } from "./AuditList.tsx"
import { AuditTable } from "./AuditTable.tsx"
import { VerifyChain } from "./VerifyChain.tsx"
import { auditMessages } from "./messages.ts"
import "./audit.css"

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
