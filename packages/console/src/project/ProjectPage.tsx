/** Page of a project, with one tab per section. The tab is in the URL. */
import { Tabs } from "@base-ui/react/tabs"
import type { ProjectId } from "@corral/domain/identity/Ids"
import { useQuery } from "@tanstack/react-query"
import { Link, useNavigate } from "@tanstack/react-router"
import { CorralError } from "@corral/client/http/CorralError"
import { isAtLeast, projectQuery } from "../api/ProjectsAndTargets.ts"
import { RunList } from "../runs/RunList.tsx"
import { useMessages } from "../text/Language.tsx"
import { Loading } from "../ui/Loading.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { ProjectMembersTab } from "./ProjectMembers.tsx"
import { ProjectSessionsTab } from "./ProjectSessions.tsx"
import { ProjectSettingsTab } from "./ProjectSettings.tsx"
import { ProjectWorkspacesTab } from "./ProjectWorkspaces.tsx"
import { projectMessages } from "./messages.ts"

const tabs = ["sessions", "runs", "members", "workspaces", "settings"] as const

interface Props {
  readonly projectId: string
  readonly tab: string | undefined
}

export const ProjectPage = ({ projectId, tab }: Props) => {
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
