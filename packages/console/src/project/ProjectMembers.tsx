/** Who is in a project, and as what. */
import type { UserId } from "@corral/domain/identity/Ids"
import type { Project, ProjectMember, ProjectRole } from "@corral/domain/project/Project"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { isAtLeast, roles } from "../api/Known.ts"
import { useList } from "../api/Lists.ts"
import { usePerson } from "../api/Person.ts"
import { useMessages } from "../text/Language.tsx"
import { ConfirmDialog } from "../ui/ConfirmDialog.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { ListMore } from "../ui/ListMore.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { ShortId } from "../ui/ShortId.tsx"
import { projectMessages } from "./messages.ts"

const roleIn = (text: string): ProjectRole => roles.find((role) => role === text) ?? "viewer"

const RoleOptions = () => {
  const messages = useMessages(projectMessages)
  return roles.map((role) => (
    <option key={role} value={role}>
      {messages.roles[role]}
    </option>
  ))
}

export const ProjectMembersTab = ({ project: { id, role } }: { readonly project: Project }) => {
  const messages = useMessages(projectMessages)
  const { user } = usePerson()
  const client = useQueryClient()
  const queryKey = ["projects", "members", id]
  const list = useList(queryKey, ({ page, signal }) =>
    hubApi.projects.members({ params: { id }, query: page, signal })
  )
  // One's own role may be the one that changed.
  const changed = () => client.invalidateQueries({ queryKey: ["projects"] })
  const change = useMutation({
    mutationFn: ({ as, userId }: { readonly userId: UserId; readonly as: ProjectRole }) =>
      hubApi.projects.updateMember({ params: { id, userId }, payload: { role: as } }),
    onSettled: changed
  })
  const add = async (form: FormData): Promise<void> => {
    const who = textIn(form, "who")
    // An id has no @; the Hub says of anything else that it is none.
    const named = who.includes("@") ? { email: who } : { userId: who as UserId }
    await hubApi.projects.addMember({
      params: { id },
      payload: { ...named, role: roleIn(textIn(form, "role")) }
    })
    await changed()
  }
  const remove = async ({ userId }: ProjectMember): Promise<void> => {
    await hubApi.projects.removeMember({ params: { id, userId } })
    await changed()
  }
  const manages = isAtLeast(role, "admin")
  return (
    <>
      {manages && (
        <div className="part-actions">
          <FormDialog
            trigger={messages.addMember}
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
      )}
      <RefusalNote error={change.error} />
      <ul className="rows" aria-label={messages.tabs.members}>
        {list.items.map((member) => (
          <li key={member.userId} className="row">
            <span className="row-main">
              <bdi>{member.name}</bdi>{" "}
              {member.userId === user.id && <span className="quiet">({messages.you})</span>}{" "}
              <ShortId id={member.userId} />
            </span>
            <div className="row-side">
              {manages ? (
                <select
                  className="short"
                  aria-label={messages.roleOf(member.name)}
                  value={member.role}
                  onChange={({ currentTarget: { value } }) =>
                    change.mutate({ userId: member.userId, as: roleIn(value) })
                  }
                >
                  <RoleOptions />
                </select>
              ) : (
                <span className="badge plain">{messages.roles[member.role]}</span>
              )}
              {manages && (
                <ConfirmDialog
                  trigger={messages.removeMember}
                  title={messages.removeMemberTitle(member.name)}
                  confirm={messages.removeMember}
                  onConfirm={() => remove(member)}
                >
                  {messages.removeMemberText}
                </ConfirmDialog>
              )}
            </div>
          </li>
        ))}
      </ul>
      <ListMore list={list} empty={null} />
    </>
  )
}
