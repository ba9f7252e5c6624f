/** Links a workspace of a shared device with a project: the device, then one of the folders that it offers. */
import type { Target } from "@corral/domain/device/Device"
import type { ProjectId } from "@corral/domain/identity/Ids"
import { useState } from "react"
import { hub } from "../api/Hub.ts"
import { useWords } from "../text/Language.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { projectWords } from "./messages.ts"

interface Props {
  readonly projectId: ProjectId
  readonly targets: ReadonlyArray<Target>
  readonly onLinked: () => Promise<void>
}

export const LinkWorkspace = ({ onLinked, projectId, targets }: Props) => {
  const words = useWords(projectWords)
  const [chosen, setChosen] = useState("")
  const offering = targets.find(({ workspaces }) => workspaces.length > 0)
  const target = targets.find(({ id }) => id === chosen) ?? offering ?? targets[0]
  const link = async (form: FormData): Promise<void> => {
    const workspace = target?.workspaces.find(({ id }) => id === textIn(form, "workspace"))
    if (target === undefined || workspace === undefined) return
    await hub.projects.linkWorkspace({
      params: { id: projectId },
      payload: { targetId: target.id, workspace: workspace.id }
    })
    await onLinked()
  }
  return (
    <FormDialog
      trigger={words.linkWorkspace}
      title={words.linkWorkspace}
      submit={words.linkWorkspace}
      onSubmit={link}
    >
      <Field label={words.device}>
        <select
          name="targetId"
          value={target?.id ?? ""}
          onChange={({ currentTarget }) => setChosen(currentTarget.value)}
        >
          {targets.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </Field>
      <Field label={words.workspace} {...(target?.workspaces.length === 0 ? { hint: words.offersNone } : {})}>
        <select name="workspace" required>
          {target?.workspaces.map(({ id }) => (
            <option key={id} value={id}>
              {id}
            </option>
          ))}
        </select>
      </Field>
    </FormDialog>
  )
}
