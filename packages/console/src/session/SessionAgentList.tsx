/** Agents of a session, each with its device, workspace and mode. */
import type { AgentInstance } from "@corral/domain/run/AgentProfile"
import type { Session } from "@corral/domain/session/Session"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { useTargetName } from "../api/ProjectsAndTargets.ts"
import { useMessages } from "../text/Language.tsx"
import { ConfirmDialog } from "../ui/ConfirmDialog.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { RowMain } from "../ui/Row.tsx"
import { sessionMessages } from "./messages.ts"
import { AddAgentDialog } from "../composer/AddAgentDialog.tsx"
import { uiMessages } from "../ui/messages.ts"
import { useAction } from "../ui/useAction.ts"
import "./session.css"

/** Button that opens the dialog for another agent of a session. */
const AddSessionAgent = ({ session }: { readonly session: Session }) => {
  const messages = useMessages(sessionMessages)
  const action = useAction()
  return (
    <div className="part-actions after">
      <button type="button" className="button small" onClick={() => action.setOpen(true)}>
        {messages.addAgent}
      </button>
      <AddAgentDialog session={session} action={action} />
    </div>
  )
}

interface RowProps {
  readonly agent: AgentInstance
  /** Whether messages without a recipient go to it. Undefined for the only agent. */
  readonly isDefault: boolean | undefined
  readonly mayWrite: boolean
  readonly onDefault: () => void
  readonly onRemove: () => Promise<void>
}

const AgentRow = ({ agent, isDefault, mayWrite, onDefault, onRemove }: RowProps) => {
  const messages = useMessages(sessionMessages)
  const { modes } = useMessages(uiMessages)
  const { label, mode, targetId, workspace } = agent
  const target = useTargetName(targetId)
  return (
    <li className="row">
      <RowMain name={label}>
        {target ?? targetId} · {workspace} · {modes[mode]}
      </RowMain>
      {mayWrite && (
        <div className="row-side">
          {isDefault === true && <span className="badge">{messages.isDefault}</span>}
          {isDefault === false && (
            <button type="button" className="button small" onClick={onDefault}>
              {messages.makeDefault}
            </button>
          )}
          <ConfirmDialog
            trigger={messages.removeAgent}
            title={messages.removeTitle(label)}
            confirm={messages.removeAgent}
            onConfirm={onRemove}
          >
            {messages.removeText}
          </ConfirmDialog>
        </div>
      )}
    </li>
  )
}

interface Props {
  readonly session: Session
  /** Whether the user can change the session. */
  readonly mayWrite: boolean
}

export const SessionAgentList = ({ mayWrite, session }: Props) => {
  const messages = useMessages(sessionMessages)
  const client = useQueryClient()
  const { agents, id } = session
  const refresh = () => client.invalidateQueries({ queryKey: ["sessions", "one", id] })
  const makeDefault = useMutation({
    mutationFn: (agent: AgentInstance) =>
      hubApi.sessions.update({ params: { id }, payload: { defaultAgentInstanceId: agent.id } }),
    onSettled: refresh
  })
  const remove = async (agent: AgentInstance): Promise<void> => {
    await hubApi.sessions.removeAgent({ params: { id }, query: { agentInstanceId: agent.id } })
    await refresh()
  }
  return (
    <>
      {agents.length === 0 ? (
        <p className="quiet">{messages.noAgents}</p>
      ) : (
        <ul className="rows" aria-label={messages.agents}>
          {agents.map((agent) => (
            <AgentRow
              key={agent.id}
              {...{ agent, mayWrite }}
              isDefault={agents.length > 1 ? agent.id === session.defaultAgentInstanceId : undefined}
              onDefault={() => makeDefault.mutate(agent)}
              onRemove={() => remove(agent)}
            />
          ))}
        </ul>
      )}
      {agents.length > 1 && <p className="quiet">{messages.defaultHint}</p>}
      <RefusalNote error={makeDefault.error} />
      {mayWrite && <AddSessionAgent session={session} />}
    </>
  )
}
