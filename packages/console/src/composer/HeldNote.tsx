/** Why queued messages of an agent are held, and the button that sends them. */
import type { AgentInstance } from "@corral/domain/run/AgentProfile"
import type { Message } from "@corral/domain/session/Message"
import type { Session } from "@corral/domain/session/Session"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { hubApi } from "../api/Hub.ts"
import { useMemberName } from "../api/MemberName.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { composerMessages } from "./messages.ts"
import "./composer.css"

interface Props {
  readonly session: Session
  readonly agent: AgentInstance
  /** Pending messages of the session. */
  readonly messages: ReadonlyArray<Message>
  /** Whether the user can write in the session. */
  readonly mayWrite: boolean
}

const useContinue = ({ id: agentInstanceId, sessionId: id }: AgentInstance) => {
  const client = useQueryClient()
  return useMutation({
    mutationFn: () => hubApi.sessions.continueAgent({ params: { id, agentInstanceId } }),
    onSettled: () => client.invalidateQueries({ queryKey: ["sessions"] })
  })
}

export const HeldNote = ({ agent, mayWrite, messages: queue, session }: Props) => {
  const messages = useMessages(composerMessages)
  const proceed = useContinue(agent)
  const { by, reason } = agent.held ?? {}
  const { user } = useCurrentUser()
  const member = useMemberName(session.projectId, by)
  const person = by === user.id ? messages.you : member === undefined ? "" : visibleLine(member, 60)
  const count = queue.filter(({ delivery, to }) => to === agent.id && delivery?.held === true).length
  if (reason === undefined || count === 0) return null
  const name = session.agents.length > 1 ? visibleLine(agent.label, 60) : ""
  const why = reason === "failed" ? messages.heldAfterFailure(name) : messages.heldAfterStop(name, person)
  return (
    <div className="held-note" role="status">
      <Icon name="pause" size={14} />
      <span>{`${why}${messages.between}${messages.heldCount(count)}`}</span>
      {mayWrite && (
        <button
          type="button"
          className="button small"
          disabled={proceed.isPending}
          onClick={() => proceed.mutate()}
        >
          {messages.continueQueue(count)}
        </button>
      )}
      <RefusalNote error={proceed.error} />
    </div>
  )
}
