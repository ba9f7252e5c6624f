/** Messages of a session, newest last, with a form for a new one. Messages are shown as plain text. */
import type { SessionId } from "@corral/domain/identity/Ids"
import type { Message } from "@corral/domain/session/Message"
import type { Session } from "@corral/domain/session/Session"
import { useQuery, useQueryClient } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useMutation } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { useIdempotencyKey } from "../api/IdempotencyKey.ts"
import { useList } from "../api/Lists.ts"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { useMessages } from "../text/Language.tsx"
import { textIn } from "../ui/Field.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { Time } from "../ui/Time.tsx"
import { sessionMessages } from "./messages.ts"
import "./session.css"

/** Returns a function that names the author of a message. */
const useNames = ({ agents, projectId }: Session) => {
  const messages = useMessages(sessionMessages)
  const { user } = useCurrentUser()
  const { data } = useQuery({
    queryKey: ["projects", "members", projectId, "known"],
    queryFn: ({ signal }) =>
      hubApi.projects.members({ params: { id: projectId }, query: { limit: 200 }, signal })
  })
  return ({ author }: Message): string => {
    if (author.kind === "agent")
      return agents.find(({ id }) => id === author.agentInstanceId)?.label ?? messages.agent
    if (author.userId === user.id) return messages.you
    return data?.items.find(({ userId }) => userId === author.userId)?.name ?? author.userId
  }
}

/** Messages of a session, newest first. */
export const useSessionMessages = (id: SessionId) =>
  useList(["sessions", "messages", id], ({ page, signal }) =>
    hubApi.sessions.messages({ params: { id }, query: page, signal })
  )

interface Props {
  readonly session: Session
  /** Whether the user can write a message. */
  readonly mayWrite: boolean
}

export const SessionMessageLog = ({ mayWrite, session }: Props) => {
  const messages = useMessages(sessionMessages)
  const client = useQueryClient()
  const keyOf = useIdempotencyKey()
  const nameOf = useNames(session)
  const { id } = session
  const list = useSessionMessages(id)
  const send = useMutation({
    mutationFn: (form: HTMLFormElement) => {
      const payload = { text: textIn(new FormData(form), "text") }
      return hubApi.sessions.addMessage({ params: { id }, headers: keyOf(payload), payload })
    },
    onSuccess: (_, form) => {
      form.reset()
      return client.invalidateQueries({ queryKey: ["sessions", "messages", id] })
    }
  })
  return (
    <>
      {list.more !== undefined && (
        <button type="button" className="button small" onClick={list.more} disabled={list.isLoadingMore}>
          {messages.earlier}
        </button>
      )}
      <RefusalNote error={list.error} />
      <ol className="messages" role="log" aria-label={messages.messages}>
        {list.items.toReversed().map((message) => (
          <li key={message.id} className={message.author.kind}>
            <p className="message-head">
              <strong>
                <bdi>{nameOf(message)}</bdi>
              </strong>{" "}
              <span className="quiet">
                <Time at={message.createdAt} />{" "}
                {message.runId !== undefined && (
                  <Link to="/runs/$runId" params={{ runId: message.runId }}>
                    {messages.run}
                  </Link>
                )}
              </span>
            </p>
            <div className="said">{message.text}</div>
          </li>
        ))}
      </ol>
      {list.items.length === 0 && <p className="quiet">{messages.noMessages}</p>}
      {mayWrite && (
        <form
          className="compose"
          onSubmit={(event) => {
            event.preventDefault()
            send.mutate(event.currentTarget)
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit()
          }}
        >
          <textarea
            name="text"
            required
            maxLength={262_144}
            aria-label={messages.write}
            placeholder={messages.write}
          />
          <RefusalNote error={send.error} />
          <button type="submit" className="button primary" disabled={send.isPending}>
            {messages.send}
          </button>
        </form>
      )}
    </>
  )
}
