/** Form that starts a run in one project. Unavailable devices, workspaces and agents are shown with the reason. */
import type { ProjectId } from "@corral/domain/identity/Ids"
import { Link } from "@tanstack/react-router"
import { useMessages } from "../text/Language.tsx"
import { Field } from "../ui/Field.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { uiMessages } from "../ui/messages.ts"
import { AgentField } from "./AgentField.tsx"
import { SessionField } from "./SessionField.tsx"
import type { StartSearch } from "./StartPage.tsx"
import { TargetField } from "./TargetField.tsx"
import { type StartChoice, useStartChoice } from "./useStartChoice.ts"
import { useStartRun } from "./useStartRun.ts"
import { startMessages } from "./messages.ts"

interface ChoiceProps {
  readonly choice: StartChoice
}

const WorkspaceField = ({ choice: { selectWorkspace, workspace, workspaces } }: ChoiceProps) => {
  const messages = useMessages(startMessages)
  return (
    <Field label={messages.workspace}>
      <select value={workspace?.id ?? ""} onChange={({ currentTarget: { value } }) => selectWorkspace(value)}>
        {workspaces.map(({ id, offered }) => (
          <option key={id} value={id} disabled={offered?.available !== true}>
            {offered?.available === true ? id : `${id} (${messages.gone})`}
          </option>
        ))}
      </select>
    </Field>
  )
}

const ModeField = ({ choice: { mode, modes, selectMode } }: ChoiceProps) => {
  const messages = useMessages(startMessages)
  const { modes: modeNames } = useMessages(uiMessages)
  return (
    <Field label={messages.mode} {...(mode === undefined ? { hint: messages.noModes } : {})}>
      <select
        value={mode ?? ""}
        onChange={({ currentTarget: { value } }) => selectMode(modes.find((each) => each === value))}
      >
        {modes.map((each) => (
          <option key={each} value={each}>
            {modeNames[each]}
          </option>
        ))}
      </select>
    </Field>
  )
}

interface MoreSettingsProps extends ChoiceProps {
  readonly projectId: ProjectId
  readonly sessionId: string | undefined
}

const MoreSettings = ({ choice: { agent, workspace }, projectId, sessionId }: MoreSettingsProps) => {
  const messages = useMessages(startMessages)
  return (
    <details>
      <summary>{messages.more}</summary>
      <div className="form">
        <SessionField projectId={projectId} initialId={sessionId} />
        <Field label={messages.model} hint={messages.modelHint}>
          <input
            name="model"
            maxLength={128}
            autoComplete="off"
            spellCheck={false}
            placeholder={agent?.model}
          />
        </Field>
        {workspace?.offered?.git === true && (
          <label className="choice">
            <input type="checkbox" name="worktree" />
            {messages.worktree}
          </label>
        )}
      </div>
    </details>
  )
}

interface Props {
  readonly projectId: ProjectId
  readonly search: StartSearch
}

export const StartForm = ({ projectId, search }: Props) => {
  const messages = useMessages(startMessages)
  const choice = useStartChoice(projectId, search)
  const start = useStartRun(projectId, choice)
  const { agent, agents, error, mode, selectAgent, selectTarget, target, targets } = choice
  if (error !== null) return <RefusalNote error={error} />
  if (choice.isLoading) return null
  if (target === undefined)
    return (
      <div className="empty">
        <p>{messages.noDevices}</p>
        <Link to="/projects/$projectId" params={{ projectId }} search={{ tab: "workspaces" }}>
          {messages.toWorkspaces}
        </Link>
      </div>
    )
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        start.mutate(new FormData(event.currentTarget))
      }}
    >
      <TargetField targets={targets} target={target} onChoose={selectTarget} />
      <WorkspaceField choice={choice} />
      <AgentField agents={agents} agent={agent} onChoose={selectAgent} />
      <ModeField choice={choice} />
      <Field label={messages.text}>
        <textarea name="text" required maxLength={262_144} autoFocus />
      </Field>
      <MoreSettings choice={choice} projectId={projectId} sessionId={search.sessionId} />
      <RefusalNote error={start.error} />
      <div className="form-actions">
        <button type="submit" className="button primary" disabled={start.isPending || mode === undefined}>
          {target.state === "online" ? messages.start : messages.queueIt}
        </button>
      </div>
    </form>
  )
}
