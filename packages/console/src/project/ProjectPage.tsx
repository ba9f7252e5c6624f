/**
 * Page of a project, with one tab per section: its sessions, runs, members, workspaces and settings. The tab is in the URL. The tab of workspaces has
 * the dialog that links one of a shared device.
 */
import { Tabs } from "@base-ui/react/tabs"
import { CorralError } from "@corral/client/http/CorralError"
import type { Target } from "@corral/domain/device/Device"
import type { ProjectId } from "@corral/domain/identity/Ids"
import type { Project, WorkspaceLink } from "@corral/domain/project/Project"
import { useQuery, useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { hubApi, useIdempotencyKey } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
import { isAtLeast, projectQuery, targetsQuery } from "../api/ProjectsAndTargets.ts"
import { RunList } from "../runs/RunRows.tsx"
import { StatusMark, useSessionStatuses } from "../status/SessionStatus.tsx"
import { useMessages } from "../text/Language.tsx"
import { ConfirmDialog, FormDialog } from "../ui/Dialogs.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { ListMore, Loading } from "../ui/ListStates.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { RowMain } from "../ui/Row.tsx"
import { StateBadge } from "../ui/StateBadge.tsx"
import { Time } from "../ui/Time.tsx"
import { ProjectMembersTab } from "./ProjectMembers.tsx"
import { ProjectSettingsTab } from "./ProjectSettings.tsx"
import { projectMessages } from "./messages.ts"

interface LinkWorkspaceDialogProps {
  readonly projectId: ProjectId
  readonly targets: ReadonlyArray<Target>
  readonly onLinked: () => Promise<void>
}

/** Dialog that links a workspace of a shared device to a project. */
const LinkWorkspaceDialog = ({ onLinked, projectId, targets }: LinkWorkspaceDialogProps) => {
  const messages = useMessages(projectMessages)
  const [chosen, setChosen] = useState("")
  const firstWithWorkspaces = targets.find(({ workspaces }) => workspaces.length > 0)
  const target = targets.find(({ id }) => id === chosen) ?? firstWithWorkspaces ?? targets[0]
  const link = async (form: FormData): Promise<void> => {
    const workspace = target?.workspaces.find(({ id }) => id === textIn(form, "workspace"))
    if (target === undefined || workspace === undefined) return
    await hubApi.projects.linkWorkspace({
      params: { id: projectId },
      payload: { targetId: target.id, workspace: workspace.id }
    })
    await onLinked()
  }
  return (
    <FormDialog
      trigger={messages.linkWorkspace}
      triggerClass="button primary"
      title={messages.linkWorkspace}
      submit={messages.linkWorkspace}
      onSubmit={link}
    >
      <Field label={messages.device}>
        <select
          name="targetId"
          value={target?.id ?? ""}
          onChange={({ currentTarget }) => setChosen(currentTarget.value)}
        >
          {targets.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </Field>
      <Field
        label={messages.workspace}
        {...(target?.workspaces.length === 0 ? { hint: messages.offersNone } : {})}
      >
        <select name="workspace" required>
          {target?.workspaces.map(({ id }) => (
            <option key={id} value={id}>
              {id}
            </option>
          ))}
        </select>
      </Field>
    </FormDialog>
  )
}

/** Workspaces linked to the project, and the dialog that links one. */
const ProjectWorkspacesTab = ({ project: { id, role } }: { readonly project: Project }) => {
  const messages = useMessages(projectMessages)
  const client = useQueryClient()
  // Undefined at first: a page that loads does not say that there are none.
  const offered = useQuery(targetsQuery(id)).data?.items
  const targets = offered ?? []
  const list = useList(["projects", "workspaces", id], ({ page, signal }) =>
    hubApi.projects.workspaces({ params: { id }, query: page, signal })
  )
  const changed = () => client.invalidateQueries({ queryKey: ["projects", "workspaces", id] })
  const unlink = async ({ targetId, workspace }: WorkspaceLink): Promise<void> => {
    await hubApi.projects.unlinkWorkspace({ params: { id, targetId, workspace } })
    await changed()
  }
  const isAdmin = isAtLeast(role, "admin")
  return (
    <>
      {isAdmin && targets.length > 0 && (
        <div className="part-actions">
          <LinkWorkspaceDialog projectId={id} targets={targets} onLinked={changed} />
        </div>
      )}
      {isAdmin && offered?.length === 0 && (
        <p className="page-hint">
          {messages.noTargets} <Link to="/devices">{messages.toDevices}</Link>
        </p>
      )}
      {list.items.length > 0 && (
        <ul className="rows" aria-label={messages.tabs.workspaces}>
          {list.items.map((link) => {
            const target = targets.find(({ id: each }) => each === link.targetId)
            return (
              <li key={`${link.targetId}/${link.workspace}`} className="row">
                <RowMain name={link.workspace}>
                  {target?.name ?? (offered === undefined ? link.targetId : messages.goneDevice)}
                </RowMain>
                <div className="row-side">
                  {target !== undefined && <StateBadge state={target.state} />}
                  <span className="quiet">
                    {messages.added} <Time at={link.addedAt} />
                  </span>
                  {isAdmin && (
                    <ConfirmDialog
                      trigger={messages.unlink}
                      title={messages.unlinkTitle(link.workspace)}
                      confirm={messages.unlink}
                      onConfirm={() => unlink(link)}
                    >
                      {messages.unlinkText}
                    </ConfirmDialog>
                  )}
                </div>
              </li>
            )
          })}
        </ul>
      )}
      <ListMore list={list} empty={messages.noWorkspaces} />
    </>
  )
}

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
