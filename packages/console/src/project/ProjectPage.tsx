/** Page of a project, with one tab per section: its sessions, runs, members, workspaces and settings. The tab is in the URL. */
import { Tabs } from "@base-ui/react/tabs"
import { CorralError } from "@corral/client/http/CorralError"
import type { ProjectId } from "@corral/domain/identity/Ids"
import type { Project } from "@corral/domain/project/Project"
import { useQuery, useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate } from "@tanstack/react-router"
import { hubApi, useIdempotencyKey } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
import { isAtLeast, projectQuery } from "../api/ProjectsAndTargets.ts"
import { RunList } from "../runs/RunRows.tsx"
import { StatusMark, useSessionStatuses } from "../status/SessionStatus.tsx"
import { useMessages } from "../text/Language.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { FormDialog } from "../ui/Dialogs.tsx"
import { ListMore } from "../ui/ListMore.tsx"
import { Loading } from "../ui/Loading.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { StateBadge } from "../ui/StateBadge.tsx"
import { Time } from "../ui/Time.tsx"
import { ProjectMembersTab } from "./ProjectMembers.tsx"
import { ProjectSettingsTab } from "./ProjectSettings.tsx"
import { ProjectWorkspacesTab } from "./ProjectWorkspaces.tsx"
import { projectMessages } from "./messages.ts"

/** Sessions of a project, with a dialog that creates one. */
const ProjectSessionsTab = ({ project }: { readonly project: Project }) => {
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

const tabs = ["sessions", "runs", "members", "workspaces", "settings"] as const

interface ProjectPageProps {
  readonly projectId: string
  readonly tab: string | undefined
}

export const ProjectPage = ({ projectId, tab }: ProjectPageProps) => {
  const messages = useMessages(projectMessages)
  const navigate = useNavigate()
  const { data: project, error } = useQuery(projectQuery(projectId as ProjectId))
  // A parent is not the current page.
  const above = (
    <Link to="/projects" activeOptions={{ exact: true }}>
      {messages.title}
    </Link>
  )
  // The user has lost access: hide cached data.
  const isForbidden = error instanceof CorralError && error.code === "permission_denied"
  if (project === undefined || isForbidden)
    return (
      <PageFrame title={messages.title} above={above}>
        <RefusalNote error={error} />
        {error === null && <Loading />}
      </PageFrame>
    )
  const start = isAtLeast(project.role, "member") && (
    <Link to="/start" search={{ projectId }} className="button">
      {messages.start}
    </Link>
  )
  return (
    <PageFrame title={project.name} above={above} actions={start}>
      {project.description !== undefined && <p className="page-hint">{project.description}</p>}
      <Tabs.Root
        value={tabs.find((each) => each === tab) ?? "sessions"}
        onValueChange={(next: string) =>
          void navigate({
            to: "/projects/$projectId",
            params: { projectId },
            search: { tab: next },
            replace: true
          })
        }
      >
        <Tabs.List className="tabs" aria-label={messages.sections}>
          {tabs.map((each) => (
            <Tabs.Tab key={each} value={each} className="tab">
              {messages.tabs[each]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="sessions">
          <ProjectSessionsTab project={project} />
        </Tabs.Panel>
        <Tabs.Panel value="runs">
          <RunList filter={{ projectId: project.id }} />
        </Tabs.Panel>
        <Tabs.Panel value="members">
          <ProjectMembersTab project={project} />
        </Tabs.Panel>
        <Tabs.Panel value="workspaces">
          <ProjectWorkspacesTab project={project} />
        </Tabs.Panel>
        <Tabs.Panel value="settings">
          <ProjectSettingsTab project={project} />
        </Tabs.Panel>
      </Tabs.Root>
    </PageFrame>
  )
}
