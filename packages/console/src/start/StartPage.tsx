/** Page that starts a run: the project, then the form of that project. */
import type { ProjectId } from "@corral/domain/identity/Ids"
import { useQuery } from "@tanstack/react-query"
import { Link, useNavigate } from "@tanstack/react-router"
import { isAtLeast, projectsQuery } from "../api/ProjectsAndTargets.ts"
import { useMessages } from "../text/Language.tsx"
import { Field } from "../ui/Field.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { StartForm } from "./StartForm.tsx"
import { startMessages } from "./messages.ts"

/** Initial selection from the URL. */
export interface StartSearch {
  readonly projectId?: string
  readonly sessionId?: string
  readonly targetId?: string
  readonly workspace?: string
  readonly agentId?: string
}

export const StartPage = ({ search }: { readonly search: StartSearch }) => {
  const messages = useMessages(startMessages)
  const navigate = useNavigate()
  const { data, error } = useQuery(projectsQuery)
  const projects = data?.items.filter(({ role }) => isAtLeast(role, "member")) ?? []
  const chosen = projects.find(({ id }) => id === search.projectId) ?? projects[0]
  return (
    <PageFrame title={messages.title}>
      <RefusalNote error={error} />
      {data !== undefined && chosen === undefined && (
        <div className="empty">
          <p>{messages.noProjects}</p>
          <Link to="/projects">{messages.toProjects}</Link>
        </div>
      )}
      {chosen !== undefined && (
        <div className="form">
          <Field label={messages.project}>
            <select
              value={chosen.id}
              onChange={({ currentTarget: { value } }) =>
                void navigate({ to: "/start", search: { projectId: value as ProjectId }, replace: true })
              }
            >
              {projects.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          </Field>
          <StartForm key={chosen.id} projectId={chosen.id} search={search} />
        </div>
      )}
    </PageFrame>
  )
}
