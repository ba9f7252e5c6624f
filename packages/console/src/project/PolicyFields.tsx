/** Form fields of a project's policies: who decides approvals, and which chats receive answers. */
import type { Approvers, ChatAnswers, Project, UpdateProject } from "@corral/domain/project/Project"
import { useMessages } from "../text/Language.tsx"
import { Field, type FieldInput, textIn } from "../ui/Field.tsx"
import { projectMessages } from "./messages.ts"

const approvers: ReadonlyArray<Approvers> = ["member", "admin", "owner"]
const chatAnswers: ReadonlyArray<ChatAnswers> = ["none", "direct", "all"]

/** The policies that a form with these fields has. */
export const policiesIn = (form: FormData): Pick<UpdateProject, "approvals" | "chats"> => ({
  approvals: {
    approvers: approvers.find((each) => each === textIn(form, "approvers")) ?? "member",
    ownRequests: form.has("ownRequests")
  },
  chats: { answers: chatAnswers.find((each) => each === textIn(form, "chatAnswers")) ?? "direct" }
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

export const PolicyFields = ({ project }: { readonly project: Project }) => {
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
    </>
  )
}
