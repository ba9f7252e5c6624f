/** Dialog that links a workspace of a shared device to a project. */
import type { Target } from "@corral/domain/device/Device"
import type { ProjectId } from "@corral/domain/identity/Ids"
import { useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { useMessages } from "../text/Language.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { projectMessages } from "./messages.ts"

interface Props {
  readonly projectId: ProjectId
  readonly targets: ReadonlyArray<Target>
  readonly onLinked: () => Promise<void>
}

export const LinkWorkspaceDialog = ({ onLinked, projectId, targets }: Props) => {
  const messages = useMessages(projectMessages)
  const [chosen, setChosen] = useState("")
  const firstWithWorkspaces = targets.find(({ workspaces }) => workspaces.length > 0)
  const target = targets.find(({ id }) => id === chosen) ?? firstWithWorkspaces ?? targets[0]
  const link = async (form: FormData): Promise<void> => {
    const workspace = target?.workspaces.find(({ id }) => id === textIn(form, "workspace"))
    if (target === undefined || workspace === undefined) return
    await hubApi.projects.linkWorkspace({
      params: { id: projectId },
      payload: { targetId: target.id, workspace: workspace.id }
    })
    await onLinked()
  }
  return (
    <FormDialog
      trigger={messages.linkWorkspace}
      triggerClass="button primary"
      title={messages.linkWorkspace}
      submit={messages.linkWorkspace}
      onSubmit={link}
    >
      <Field label={messages.device}>
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
      <Field
        label={messages.workspace}
        {...(target?.workspaces.length === 0 ? { hint: messages.offersNone } : {})}
      >
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
