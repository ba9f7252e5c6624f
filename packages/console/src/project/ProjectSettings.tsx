/**
 * Settings of a project: name, visibility, policies, checks and deletion. Policies say who decides approvals, which chats receive answers, and where
 * runs write by default. Checks are commands with names, such as the project's tests, that are executed on what candidates changed.
 */
import type { Approvers, ChatAnswers, Project, UpdateProject } from "@corral/domain/project/Project"
import type { Check } from "@corral/domain/run/Check"
import type { Isolation } from "@corral/domain/run/Run"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate } from "@tanstack/react-router"
import { useRef, useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { isAtLeast } from "../api/ProjectsAndTargets.ts"
import { useMessages } from "../text/Language.tsx"
import { ConfirmDialog } from "../ui/Dialogs.tsx"
import { Field, type FieldInput, textIn } from "../ui/Field.tsx"
import { Icon } from "../ui/Icon.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { projectMessages } from "./messages.ts"
import "./project.css"

/** As many as a project can have. */
const MAX_CHECKS = 5

/** The checks that a form with these fields has. Rows without a command are none. */
const checksIn = (form: FormData): ReadonlyArray<Check> => {
  const texts = (name: string) =>
    form.getAll(name).map((each) => (typeof each === "string" ? each.trim() : ""))
  const [names, commands] = [texts("checkName"), texts("checkCommand")]
  return commands.flatMap((command, at) => {
    const name = names[at] ?? ""
    return command === "" ? [] : [{ name: name === "" ? command.slice(0, 60) : name, command }]
  })
}

interface CheckRow extends Check {
  readonly key: number
}

/** Form fields of the checks: a name and a command each. */
const CheckFields = ({ checks }: { readonly checks: ReadonlyArray<Check> }) => {
  const messages = useMessages(projectMessages)
  const [rows, setRows] = useState<ReadonlyArray<CheckRow>>(() =>
    checks.map((check, key) => ({ ...check, key }))
  )
  const nextKey = useRef(rows.length)
  return (
    <fieldset className="checks">
      <legend>{messages.checks}</legend>
      <p className="quiet">{messages.checksHint}</p>
      {rows.map(({ command, key, name }, at) => (
        <div key={key} className="check-row">
          <input
            name="checkName"
            aria-label={messages.checkName(at + 1)}
            placeholder={messages.checkNameHint}
            defaultValue={name}
            maxLength={60}
            autoComplete="off"
          />
          <input
            name="checkCommand"
            className="check-command-field"
            aria-label={messages.checkCommand(at + 1)}
            placeholder="npm test"
            defaultValue={command}
            maxLength={2_000}
            autoComplete="off"
            spellCheck={false}
          />
          <button
            type="button"
            className="icon-button"
            aria-label={messages.removeCheck(at + 1)}
            onClick={() => setRows(rows.filter((row) => row.key !== key))}
          >
            <Icon name="close" size={14} />
          </button>
        </div>
      ))}
      {rows.length < MAX_CHECKS && (
        <button
          type="button"
          className="button small"
          onClick={() => setRows([...rows, { name: "", command: "", key: nextKey.current++ }])}
        >
          <Icon name="plus" size={14} />
          {messages.addCheck}
        </button>
      )}
    </fieldset>
  )
}

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
