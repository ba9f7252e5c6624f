/** What a project is called, who may see it, who decides its approvals, and its end. */
import type { Approvers, Project } from "@corral/domain/project/Project"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { hub } from "../api/Hub.ts"
import { isAtLeast } from "../api/Known.ts"
import { useWords } from "../text/Language.tsx"
import { ConfirmDialog } from "../ui/ConfirmDialog.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { ProjectFields } from "./ProjectFields.tsx"
import { projectWords } from "./messages.ts"

const approvers: ReadonlyArray<Approvers> = ["member", "admin", "owner"]

export const ProjectSettings = ({ project }: { readonly project: Project }) => {
  const words = useWords(projectWords)
  const client = useQueryClient()
  const navigate = useNavigate()
  const { id } = project
  const changed = () => client.invalidateQueries({ queryKey: ["projects"] })
  const save = useMutation({
    mutationFn: (form: FormData) =>
      hub.projects.update({
        params: { id },
        payload: {
          name: textIn(form, "name"),
          description: textIn(form, "description"),
          visibility: textIn(form, "visibility") === "internal" ? "internal" : "private",
          approvals: {
            approvers: approvers.find((each) => each === textIn(form, "approvers")) ?? "member",
            ownRequests: form.has("ownRequests")
          }
        }
      }),
    onSuccess: changed
  })
  const remove = async (): Promise<void> => {
    await hub.projects.remove({ params: { id } })
    await navigate({ to: "/projects" })
    await changed()
  }
  return (
    <>
      <form
        className="form"
        // What somebody else has saved meanwhile is what one goes on from.
        key={project.updatedAt}
        onSubmit={(event) => {
          event.preventDefault()
          save.mutate(new FormData(event.currentTarget))
        }}
      >
        <fieldset className="form" disabled={!isAtLeast(project.role, "admin")}>
          <ProjectFields project={project} />
          <Field label={words.policy}>
            <select name="approvers" defaultValue={project.approvals.approvers}>
              {approvers.map((each) => (
                <option key={each} value={each}>
                  {words.approvers[each]}
                </option>
              ))}
            </select>
          </Field>
          <label className="choice">
            <input type="checkbox" name="ownRequests" defaultChecked={project.approvals.ownRequests} />
            {words.ownRequests}
          </label>
          <RefusalNote error={save.error} />
          <div className="form-actions">
            <button type="submit" className="button primary" disabled={save.isPending}>
              {words.save}
            </button>
            <span role="status">{save.isSuccess ? words.saved : ""}</span>
          </div>
        </fieldset>
      </form>
      {isAtLeast(project.role, "owner") && (
        <>
          <h2>{words.remove}</h2>
          <ConfirmDialog
            trigger={words.remove}
            triggerClass="button danger"
            title={words.removeTitle(project.name)}
            confirm={words.danger}
            onConfirm={remove}
          >
            {words.removeText}
          </ConfirmDialog>
        </>
      )}
    </>
  )
}
