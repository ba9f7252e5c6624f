/** Audit page: records of a project for its admins, or the user's own records. The filter is in the URL. */
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
import { AuditTable } from "./AuditTable.tsx"
import { VerifyChain } from "./VerifyChain.tsx"
import { auditMessages } from "./messages.ts"

interface Filter {
  readonly projectId?: string
  readonly actor?: string
  readonly action?: string
  /** Value of a local date-time input. */
  readonly from?: string
  readonly to?: string
}

const names = ["projectId", "actor", "action", "from", "to"] as const

/** Query of the Hub. Times include the time zone. */
const queryOf = ({ action, from, projectId, to, ...rest }: Filter) => {
  // The URL may contain anything.
  const knownAction = auditActionNames.find((name) => name === action)
  const time = (name: "from" | "to", local: string | undefined) =>
    local === undefined || Number.isNaN(Date.parse(local)) ? {} : { [name]: new Date(local).toISOString() }
  return {
    ...rest,
    ...(knownAction === undefined ? {} : { action: knownAction }),
    ...time("from", from),
    ...time("to", to),
    ...(projectId === undefined ? {} : { projectId: projectId as ProjectId })
  }
}

export const AuditPage = ({ filter }: { readonly filter: Filter }) => {
  const messages = useMessages(auditMessages)
  const navigate = useNavigate()
  const projects = useProjects().filter(({ role }) => isAtLeast(role, "admin"))
  const query = queryOf(filter)
  const list = useList(["audit", "list", query], ({ page, signal }) =>
    hubApi.audit.list({ query: { ...query, ...page }, signal })
  )
  const apply = (form: FormData) =>
    void navigate({
      to: "/audit",
      search: pickSearchParams(...names)(Object.fromEntries(names.map((name) => [name, textIn(form, name)])))
    })
  return (
    <PageFrame
      title={messages.title}
      actions={
        query.projectId !== undefined && (
          <>
            <a
              className="button"
              href={pathOf(hubPaths.audit.export[1], { query: { projectId: query.projectId } })}
              download
            >
              {messages.export}
            </a>
            <VerifyChain key={query.projectId} projectId={query.projectId} />
          </>
        )
      }
    >
      <form
        className="filters"
        // Remount when the filter or the projects change, so that the inputs show the current filter.
        key={JSON.stringify([filter, projects.length > 0])}
        onSubmit={(event) => {
          event.preventDefault()
          apply(new FormData(event.currentTarget))
        }}
      >
        <Field label={messages.project}>
          <select name="projectId" defaultValue={filter.projectId ?? ""}>
            <option value="">{messages.own}</option>
            {projects.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </Field>
        <Field label={messages.actor}>
          <input name="actor" defaultValue={filter.actor} maxLength={200} spellCheck={false} />
        </Field>
        <Field label={messages.action}>
          <select name="action" defaultValue={query.action ?? ""}>
            <option value="">{messages.everyAction}</option>
            {auditActionNames.map((action) => (
              <option key={action} value={action}>
                {messages.actions[action]}
              </option>
            ))}
          </select>
        </Field>
        <Field label={messages.from}>
          <input type="datetime-local" name="from" defaultValue={filter.from} />
        </Field>
        <Field label={messages.to}>
          <input type="datetime-local" name="to" defaultValue={filter.to} />
        </Field>
        <button type="submit" className="button">
          {messages.filter}
        </button>
      </form>
      <AuditTable records={list.items} />
      <ListMore list={list} empty={messages.none} />
    </PageFrame>
  )
}
