/** Workspaces linked to a project. */
import type { Project, WorkspaceLink } from "@corral/domain/project/Project"
import { useQuery, useQueryClient } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { hubApi } from "../api/Hub.ts"
import { isAtLeast, targetsQuery } from "../api/ProjectsAndTargets.ts"
import { useList } from "../api/Lists.ts"
import { useMessages } from "../text/Language.tsx"
import { ConfirmDialog } from "../ui/ConfirmDialog.tsx"
import { ListMore } from "../ui/ListMore.tsx"
import { RowMain } from "../ui/RowMain.tsx"
import { StateBadge } from "../ui/StateBadge.tsx"
import { Time } from "../ui/Time.tsx"
import { LinkWorkspaceDialog } from "./LinkWorkspace.tsx"
import { projectMessages } from "./messages.ts"

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
