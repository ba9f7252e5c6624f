/**
 * Settings of a project: name, visibility, policies and deletion. Policies say who decides approvals, which chats receive answers, and where
 * runs write by default.
 */
import type { Approvers, ChatAnswers, Project, UpdateProject } from "@corral/domain/project/Project"
import type { Isolation } from "@corral/domain/run/Run"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate } from "@tanstack/react-router"
import { hubApi } from "../api/Hub.ts"
import { isAtLeast } from "../api/ProjectsAndTargets.ts"
import { useMessages } from "../text/Language.tsx"
import { ConfirmDialog } from "../ui/Dialogs.tsx"
import { Field, type FieldInput, textIn } from "../ui/Field.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { CheckFields, checksIn } from "./CheckFields.tsx"
import { projectMessages } from "./messages.ts"

/** Form fields of a new or existing project. */
export const ProjectFields = ({ project }: { readonly project?: Project }) => {
  const messages = useMessages(projectMessages)
  return (
    <>
      <Field label={messages.name}>
        <input name="name" required maxLength={200} defaultValue={project?.name} autoComplete="off" />
      </Field>
      <Field label={messages.description}>
        <input name="description" maxLength={4_096} defaultValue={project?.description} autoComplete="off" />
      </Field>
      <Field label={messages.visibility}>
        <select name="visibility" defaultValue={project?.visibility ?? "private"}>
          <option value="private">{messages.visibilities.private}</option>
          <option value="internal">{messages.visibilities.internal}</option>
        </select>
      </Field>
    </>
  )
}

const approvers: ReadonlyArray<Approvers> = ["member", "admin", "owner"]
const chatAnswers: ReadonlyArray<ChatAnswers> = ["none", "direct", "all"]
/** Where a run writes. `unset`: the project says nothing, and the workspace decides. */
const UNSET = "unset"
const isolations: ReadonlyArray<Isolation> = ["none", "worktree", "overlay"]

/** The policies that a form with these fields has. */
const policiesIn = (form: FormData): Pick<UpdateProject, "approvals" | "chats" | "runs"> => ({
  approvals: {
    approvers: approvers.find((each) => each === textIn(form, "approvers")) ?? "member",
    ownRequests: form.has("ownRequests")
  },
  chats: { answers: chatAnswers.find((each) => each === textIn(form, "chatAnswers")) ?? "direct" },
  runs: { isolation: isolations.find((each) => each === textIn(form, "isolation")) ?? null }
})

interface ChoiceProps<A extends string> extends FieldInput {
  readonly name: string
  readonly value: A
  readonly choices: ReadonlyArray<A>
  readonly labels: Readonly<Record<A, string>>
}

const Choice = <A extends string>({ choices, labels, name, value, ...field }: ChoiceProps<A>) => (
  <select {...field} name={name} defaultValue={value}>
    {choices.map((each) => (
      <option key={each} value={each}>
        {labels[each]}
      </option>
    ))}
  </select>
)

/** Form fields of a project's policies: who decides approvals, which chats receive answers, and where runs write. */
const PolicyFields = ({ project }: { readonly project: Project }) => {
  const messages = useMessages(projectMessages)
  return (
    <>
      <Field label={messages.policy}>
        <Choice
          name="approvers"
          value={project.approvals.approvers}
          choices={approvers}
          labels={messages.approvers}
        />
      </Field>
      <label className="choice">
        <input type="checkbox" name="ownRequests" defaultChecked={project.approvals.ownRequests} />
        {messages.ownRequests}
      </label>
      <Field label={messages.chatPolicy}>
        <Choice
          name="chatAnswers"
          value={project.chats.answers}
          choices={chatAnswers}
          labels={messages.chatAnswers}
        />
      </Field>
      <Field label={messages.isolation} hint={messages.isolationHint}>
        <Choice
          name="isolation"
          value={project.runs?.isolation ?? UNSET}
          choices={[UNSET, ...isolations]}
          labels={messages.isolations}
        />
      </Field>
    </>
  )
}

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
          ...policiesIn(form),
          checks: checksIn(form)
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
          <CheckFields checks={project.checks ?? []} />
          <RefusalNote error={save.error} />
          <div className="form-actions">
            <button type="submit" className="button primary" disabled={save.isPending}>
              {messages.save}
            </button>
            <span role="status">{save.isSuccess ? messages.saved : ""}</span>
          </div>
        </fieldset>
      </form>
      <h2>{messages.limits}</h2>
      <p className="quiet">{messages.limitsHint}</p>
      <Link to="/usage" search={{ projectId: id }} className="button">
        {messages.toUsage}
      </Link>
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
