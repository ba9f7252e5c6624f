/** What a project says of itself, in a form: to make one and to change one. */
import type { Project } from "@corral/domain/project/Project"
import { useWords } from "../text/Language.tsx"
import { Field } from "../ui/Field.tsx"
import { projectWords } from "./messages.ts"

export const ProjectFields = ({ project }: { readonly project?: Project }) => {
  const words = useWords(projectWords)
  return (
    <>
      <Field label={words.name}>
        <input name="name" required maxLength={200} defaultValue={project?.name} autoComplete="off" />
      </Field>
      <Field label={words.description}>
        <input name="description" maxLength={4_096} defaultValue={project?.description} autoComplete="off" />
      </Field>
      <Field label={words.visibility}>
        <select name="visibility" defaultValue={project?.visibility ?? "private"}>
          <option value="private">{words.visibilities.private}</option>
          <option value="internal">{words.visibilities.internal}</option>
        </select>
      </Field>
    </>
  )
}
