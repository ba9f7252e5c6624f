/** Dialog that selects the projects whose members can use a device. */
import type { ProjectId } from "@corral/domain/identity/Ids"
import { useProjects } from "../api/ProjectsAndTargets.ts"
import { useMessages } from "../text/Language.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import type { UserAction } from "../ui/useAction.ts"
import { deviceMessages } from "./messages.ts"

interface Props {
  /** State of the dialog, which a menu opens. */
  readonly action: UserAction
  readonly name: string
  readonly sharedWith: ReadonlyArray<ProjectId>
  readonly onShare: (projects: ReadonlyArray<ProjectId>) => Promise<void>
}

export const ShareDevice = ({ action, name, onShare, sharedWith }: Props) => {
  const messages = useMessages(deviceMessages)
  const projects = useProjects()
  const share = (form: FormData): Promise<void> => {
    const unseen = sharedWith.filter((id) => !projects.some((project) => project.id === id))
    return onShare([...unseen, ...projects.flatMap(({ id }) => (form.has(id) ? [id] : []))])
  }
  return (
    <FormDialog action={action} title={messages.shareTitle(name)} submit={messages.save} onSubmit={share}>
      <p className="quiet">{projects.length === 0 ? messages.noProjects : messages.shareHint}</p>
      <fieldset>
        <legend className="hidden">{messages.shareTitle(name)}</legend>
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
