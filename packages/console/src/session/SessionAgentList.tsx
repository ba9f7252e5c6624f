/** Agents of a session, each with its device and workspace. */
import type { AgentInstance } from "@corral/domain/run/AgentProfile"
import type { Session } from "@corral/domain/session/Session"
import { useQueryClient } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { hubApi } from "../api/Hub.ts"
import { useTargetName } from "../api/ProjectsAndTargets.ts"
import { useMessages } from "../text/Language.tsx"
import { ConfirmDialog } from "../ui/ConfirmDialog.tsx"
import { RowMain } from "../ui/RowMain.tsx"
import { AddSessionAgent } from "./AddSessionAgent.tsx"
import { sessionMessages } from "./messages.ts"

interface RowProps {
  readonly session: Session
  readonly agent: AgentInstance
  readonly mayWrite: boolean
  readonly onRemove: () => Promise<void>
}

const AgentRow = ({ agent, mayWrite, onRemove, session: { id, projectId } }: RowProps) => {
  const messages = useMessages(sessionMessages)
  const { agentId, label, targetId, workspace } = agent
  const target = useTargetName(targetId)
  return (
    <li className="row">
      <RowMain name={label}>
        {target ?? targetId} · {workspace}
      </RowMain>
      {mayWrite && (
        <div className="row-side">
          <Link
            to="/start"
            search={{ projectId, sessionId: id, targetId, workspace, agentId }}
            className="button small"
          >
            {messages.startWith}
          </Link>
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
            <AgentRow key={agent.id} {...{ agent, mayWrite, session }} onRemove={() => remove(agent)} />
          ))}
        </ul>
      )}
      {mayWrite && <AddSessionAgent session={session} onAdded={refresh} />}
    </>
  )
}
