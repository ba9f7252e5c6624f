/** What a project says of itself, in a form: to make one and to change one. */
import type { Project } from "@corral/domain/project/Project"
import { useMessages } from "../text/Language.tsx"
import { Field } from "../ui/Field.tsx"
import { projectMessages } from "./messages.ts"

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
