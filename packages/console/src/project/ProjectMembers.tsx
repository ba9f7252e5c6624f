/** Members of a project and their roles. */
import type { UserId } from "@corral/domain/identity/Ids"
import type { Project, ProjectMember, ProjectRole } from "@corral/domain/project/Project"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { isAtLeast, projectRoles } from "../api/ProjectsAndTargets.ts"
import { useList } from "../api/Lists.ts"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { useMessages } from "../text/Language.tsx"
import { ConfirmDialog, FormDialog, useAction } from "../ui/Dialogs.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { ListMore } from "../ui/ListMore.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { RowMain, RowMenu, RowMenuItem } from "../ui/Row.tsx"
import { projectMessages } from "./messages.ts"

const roleIn = (text: string): ProjectRole => projectRoles.find((role) => role === text) ?? "viewer"

const RoleOptions = () => {
  const messages = useMessages(projectMessages)
  return projectRoles.map((role) => (
    <option key={role} value={role}>
      {messages.roles[role]}
    </option>
  ))
}

interface AddMemberProps {
  readonly projectId: Project["id"]
  readonly onAdded: () => Promise<void>
}

const AddMember = ({ onAdded, projectId }: AddMemberProps) => {
  const messages = useMessages(projectMessages)
  const add = async (form: FormData): Promise<void> => {
    const who = textIn(form, "who")
    // An id has no @. The Hub rejects other text.
    const user = who.includes("@") ? { email: who } : { userId: who as UserId }
    await hubApi.projects.addMember({
      params: { id: projectId },
      payload: { ...user, role: roleIn(textIn(form, "role")) }
    })
    await onAdded()
  }
  return (
    <div className="part-actions">
      <FormDialog
        trigger={messages.addMember}
        triggerClass="button primary"
        title={messages.addMember}
        submit={messages.addMember}
        onSubmit={add}
      >
        <Field label={messages.who} hint={messages.whoHint}>
          <input name="who" required maxLength={200} autoComplete="off" spellCheck={false} />
        </Field>
        <Field label={messages.role}>
          <select name="role" defaultValue="member">
            <RoleOptions />
          </select>
        </Field>
      </FormDialog>
    </div>
  )
}

interface MemberRowProps {
  readonly member: ProjectMember
  readonly isAdmin: boolean
  readonly onRole: (role: ProjectRole) => void
  readonly onRemove: () => Promise<void>
}

const MemberRow = ({ isAdmin, member, onRemove, onRole }: MemberRowProps) => {
  const messages = useMessages(projectMessages)
  const { user } = useCurrentUser()
  const removal = useAction()
  return (
    <li className="row">
      <RowMain
        name={member.name}
        suffix={member.userId === user.id ? <span className="quiet">({messages.you})</span> : undefined}
      >
        {messages.roleHints[member.role]}
      </RowMain>
      <div className="row-side">
        {isAdmin ? (
          <select
            className="short"
            aria-label={messages.roleOf(member.name)}
            value={member.role}
            onChange={({ currentTarget: { value } }) => onRole(roleIn(value))}
          >
            <RoleOptions />
          </select>
        ) : (
          <span>{messages.roles[member.role]}</span>
        )}
        <RowMenu of={member.name} id={member.userId}>
          {isAdmin && (
            <RowMenuItem icon="remove" onSelect={() => removal.setOpen(true)}>
              {messages.removeMember}
            </RowMenuItem>
          )}
        </RowMenu>
        <ConfirmDialog
          action={removal}
          title={messages.removeMemberTitle(member.name)}
          confirm={messages.removeMember}
          onConfirm={onRemove}
        >
          {messages.removeMemberText}
        </ConfirmDialog>
      </div>
    </li>
  )
}

export const ProjectMembersTab = ({ project: { id, role } }: { readonly project: Project }) => {
  const messages = useMessages(projectMessages)
  const client = useQueryClient()
  const list = useList(["projects", "members", id], ({ page, signal }) =>
    hubApi.projects.members({ params: { id }, query: page, signal })
  )
  // The user's own role may have changed.
  const refresh = () => client.invalidateQueries({ queryKey: ["projects"] })
  const changeRole = useMutation({
    mutationFn: ({ role: next, userId }: { readonly userId: UserId; readonly role: ProjectRole }) =>
      hubApi.projects.updateMember({ params: { id, userId }, payload: { role: next } }),
    onSettled: refresh
  })
  const remove = async ({ userId }: ProjectMember): Promise<void> => {
    await hubApi.projects.removeMember({ params: { id, userId } })
    await refresh()
  }
  const isAdmin = isAtLeast(role, "admin")
  return (
    <>
      {isAdmin && <AddMember projectId={id} onAdded={refresh} />}
      <RefusalNote error={changeRole.error} />
      <ul className="rows" aria-label={messages.tabs.members}>
        {list.items.map((member) => (
          <MemberRow
            key={member.userId}
            {...{ isAdmin, member }}
            onRole={(next) => changeRole.mutate({ userId: member.userId, role: next })}
            onRemove={() => remove(member)}
          />
        ))}
      </ul>
      <ListMore list={list} empty={null} />
    </>
  )
}
