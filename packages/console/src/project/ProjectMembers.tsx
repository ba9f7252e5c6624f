/** Members of a project and their roles. */
import type { UserId } from "@corral/domain/identity/Ids"
import type { Project, ProjectMember, ProjectRole } from "@corral/domain/project/Project"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { isAtLeast, projectRoles } from "../api/ProjectsAndTargets.ts"
import { useList } from "../api/Lists.ts"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { useMessages } from "../text/Language.tsx"
import { ConfirmDialog, FormDialog, useAction } from "../ui/Dialogs.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { ListMore } from "../ui/ListStates.tsx"
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
  readonly change: (role: ProjectRole) => Promise<unknown>
  readonly onChanged: (error: Error | null) => Promise<void>
  readonly onRemove: () => Promise<void>
}

const MemberRow = ({ change, isAdmin, member, onChanged, onRemove }: MemberRowProps) => {
  const messages = useMessages(projectMessages)
  const { user } = useCurrentUser()
  const removal = useAction()
  // One request after the other: the role chosen last is the role in the end.
  const role = useMutation({
    scope: { id: `role of ${member.userId}` },
    mutationFn: change,
    onSettled: (_, error) => onChanged(error)
  })
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
            value={role.isPending ? role.variables : member.role}
            onChange={({ currentTarget: { value } }) => role.mutate(roleIn(value))}
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
  const [refusal, setRefusal] = useState<Error | null>(null)
  const remove = async ({ userId }: ProjectMember): Promise<void> => {
    await hubApi.projects.removeMember({ params: { id, userId } })
    await refresh()
  }
  const isAdmin = isAtLeast(role, "admin")
  return (
    <>
      {isAdmin && <AddMember projectId={id} onAdded={refresh} />}
      <RefusalNote error={refusal} />
      <ul className="rows" aria-label={messages.tabs.members}>
        {list.items.map((member) => (
          <MemberRow
            key={member.userId}
            {...{ isAdmin, member }}
            change={(next) =>
              hubApi.projects.updateMember({
                params: { id, userId: member.userId },
                payload: { role: next }
              })
            }
            onChanged={async (error) => {
              await refresh()
              setRefusal(error)
            }}
            onRemove={() => remove(member)}
          />
        ))}
      </ul>
      <ListMore list={list} empty={null} />
    </>
  )
}
