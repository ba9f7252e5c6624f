/** A thread without messages: who works where once a task is described, or what is missing for that. */
import type { Session } from "@corral/domain/session/Session"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { useDevice } from "../api/Device.ts"
import { threadMessages } from "./messages.ts"
import "./thread.css"

export const EmptyThread = ({ session }: { readonly session: Session }) => {
  const messages = useMessages(threadMessages)
  const agent = session.agents.find(({ id }) => id === session.defaultAgentInstanceId)
  const device = useDevice(agent?.targetId)
  return (
    <div className="thread-empty">
      <p className="thread-empty-title">{messages.empty}</p>
      <p className="quiet">
        {agent === undefined
          ? messages.emptyWithoutAgent
          : messages.emptyHint(
              visibleLine(agent.label, 60),
              visibleLine(agent.workspace, 40),
              visibleLine(device?.name ?? "", 40)
            )}
      </p>
    </div>
  )
}
