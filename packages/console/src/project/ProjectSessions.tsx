/** Sessions of a project, with a dialog that creates one. */
import type { Project } from "@corral/domain/project/Project"
import { useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate } from "@tanstack/react-router"
import { hubApi } from "../api/Hub.ts"
import { useIdempotencyKey } from "../api/IdempotencyKey.ts"
import { isAtLeast } from "../api/ProjectsAndTargets.ts"
import { useList } from "../api/Lists.ts"
import { StatusMark } from "../status/StatusMark.tsx"
import { useSessionStatuses } from "../status/useSessionStatuses.ts"
import { useMessages } from "../text/Language.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { ListMore } from "../ui/ListMore.tsx"
import { StateBadge } from "../ui/StateBadge.tsx"
import { Time } from "../ui/Time.tsx"
import { projectMessages } from "./messages.ts"

export const ProjectSessionsTab = ({ project }: { readonly project: Project }) => {
  const messages = useMessages(projectMessages)
  const client = useQueryClient()
  const navigate = useNavigate()
  const keyOf = useIdempotencyKey()
  const statuses = useSessionStatuses()
  const projectId = project.id
  const list = useList(["sessions", "list", projectId], ({ page, signal }) =>
    hubApi.sessions.list({ query: { projectId, ...page }, signal })
  )
  const create = async (form: FormData): Promise<void> => {
    const payload = { projectId, title: textIn(form, "title") }
    const { id } = await hubApi.sessions.create({ headers: keyOf(payload), payload })
    await client.invalidateQueries({ queryKey: ["sessions"] })
    await navigate({ to: "/sessions/$sessionId", params: { sessionId: id } })
  }
  return (
    <>
      {isAtLeast(project.role, "member") && (
        <div className="part-actions">
          <FormDialog
            trigger={messages.newSession}
            triggerClass="button primary"
            title={messages.newSession}
            submit={messages.newSession}
            onSubmit={create}
          >
            <Field label={messages.sessionTitle}>
              <input name="title" required maxLength={200} autoComplete="off" />
            </Field>
          </FormDialog>
        </div>
      )}
      {list.items.length > 0 && (
        <ul className="rows" aria-label={messages.tabs.sessions}>
          {list.items.map(({ id, state, title, unread = 0, updatedAt }) => (
            <li key={id} className="row">
              <Link to="/sessions/$sessionId" params={{ sessionId: id }} className="row-main row-title">
                <bdi>{title}</bdi>
              </Link>
              <div className="row-side">
                {state !== "active" && <StateBadge state={state} />}
                {unread > 0 && <span className="quiet">{messages.unread(unread)}</span>}
                {statuses.has(id) && <StatusMark status={statuses.get(id) ?? "idle"} />}
                <Time at={updatedAt} />
              </div>
            </li>
          ))}
        </ul>
      )}
      <ListMore list={list} empty={messages.noSessions} />
    </>
  )
}
