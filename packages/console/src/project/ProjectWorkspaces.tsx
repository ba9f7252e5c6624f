/** Workspaces linked to a project, and the dialog that links one of a shared device. */
import type { Target } from "@corral/domain/device/Device"
import type { ProjectId } from "@corral/domain/identity/Ids"
import type { Project, WorkspaceLink } from "@corral/domain/project/Project"
import { useQuery, useQueryClient } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
import { isAtLeast, targetsQuery } from "../api/ProjectsAndTargets.ts"
import { useMessages } from "../text/Language.tsx"
import { ConfirmDialog, FormDialog } from "../ui/Dialogs.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { ListMore } from "../ui/ListMore.tsx"
import { RowMain } from "../ui/Row.tsx"
import { StateBadge } from "../ui/StateBadge.tsx"
import { Time } from "../ui/Time.tsx"
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

export const ProjectWorkspacesTab = ({ project: { id, role } }: { readonly project: Project }) => {
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
