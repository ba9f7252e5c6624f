/** Chooses the projects whose members may use a device. */
import type { ProjectId } from "@corral/domain/identity/Ids"
import { useProjects } from "../api/Known.ts"
import { useWords } from "../text/Language.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { deviceWords } from "./messages.ts"

interface Props {
  readonly name: string
  readonly sharedWith: ReadonlyArray<ProjectId>
  readonly onShare: (projects: ReadonlyArray<ProjectId>) => Promise<void>
}

export const ShareDevice = ({ name, onShare, sharedWith }: Props) => {
  const words = useWords(deviceWords)
  const projects = useProjects()
  const share = (form: FormData): Promise<void> => {
    const unseen = sharedWith.filter((id) => !projects.some((project) => project.id === id))
    return onShare([...unseen, ...projects.flatMap(({ id }) => (form.has(id) ? [id] : []))])
  }
  return (
    <FormDialog
      trigger={words.share}
      triggerClass="button small"
      title={words.shareTitle(name)}
      submit={words.save}
      onSubmit={share}
    >
      <p className="quiet">{projects.length === 0 ? words.noProjects : words.shareHint}</p>
      <fieldset>
        <legend className="hidden">{words.shareTitle(name)}</legend>
        {projects.map((project) => (
          <label key={project.id} className="choice">
            <input type="checkbox" name={project.id} defaultChecked={sharedWith.includes(project.id)} />
            <bdi>{project.name}</bdi>
          </label>
        ))}
      </fieldset>
    </FormDialog>
  )
}
