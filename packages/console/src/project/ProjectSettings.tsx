/** Settings of a project: name, visibility, policies and deletion. */
import type { Project } from "@corral/domain/project/Project"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { hubApi } from "../api/Hub.ts"
import { isAtLeast } from "../api/ProjectsAndTargets.ts"
import { useMessages } from "../text/Language.tsx"
import { ConfirmDialog } from "../ui/ConfirmDialog.tsx"
import { textIn } from "../ui/Field.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { PolicyFields, policiesIn } from "./PolicyFields.tsx"
import { ProjectFields } from "./ProjectFields.tsx"
import { projectMessages } from "./messages.ts"

export const ProjectSettingsTab = ({ project }: { readonly project: Project }) => {
  const messages = useMessages(projectMessages)
  const client = useQueryClient()
  const navigate = useNavigate()
  const { id } = project
  const changed = () => client.invalidateQueries({ queryKey: ["projects"] })
  const save = useMutation({
    mutationFn: (form: FormData) =>
      hubApi.projects.update({
        params: { id },
        payload: {
          name: textIn(form, "name"),
          description: textIn(form, "description"),
          visibility: textIn(form, "visibility") === "internal" ? "internal" : "private",
          ...policiesIn(form)
        }
      }),
    onSuccess: changed
  })
  const remove = async (): Promise<void> => {
    await hubApi.projects.remove({ params: { id } })
    await navigate({ to: "/projects" })
    await changed()
  }
  return (
    <>
      <form
        className="form"
        // Remount after a change by another user, so that the form shows current values.
        key={project.updatedAt}
        onSubmit={(event) => {
          event.preventDefault()
          save.mutate(new FormData(event.currentTarget))
        }}
      >
        <fieldset className="form" disabled={!isAtLeast(project.role, "admin")}>
          <ProjectFields project={project} />
          <PolicyFields project={project} />
          <RefusalNote error={save.error} />
          <div className="form-actions">
            <button type="submit" className="button primary" disabled={save.isPending}>
              {messages.save}
            </button>
            <span role="status">{save.isSuccess ? messages.saved : ""}</span>
          </div>
        </fieldset>
      </form>
      {isAtLeast(project.role, "owner") && (
        <>
          <h2>{messages.remove}</h2>
          <ConfirmDialog
            trigger={messages.remove}
            triggerClass="button danger"
            title={messages.removeTitle(project.name)}
            confirm={messages.danger}
            onConfirm={remove}
          >
            {messages.removeText}
          </ConfirmDialog>
        </>
      )}
    </>
  )
}
