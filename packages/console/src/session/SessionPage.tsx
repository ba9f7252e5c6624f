/** Page of a session: messages, agents and runs. */
import type { SessionId } from "@corral/domain/identity/Ids"
import type { Session, UpdateSession } from "@corral/domain/session/Session"
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { hubApi } from "../api/Hub.ts"
import { useCanWork, useProjectName } from "../api/ProjectsAndTargets.ts"
import { RunList } from "../runs/RunList.tsx"
import { useMessages } from "../text/Language.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { Loading } from "../ui/Loading.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { StateBadge } from "../ui/StateBadge.tsx"
import { SessionAgentList } from "./SessionAgentList.tsx"
import { SessionMessageLog, useSessionMessages } from "./SessionMessages.tsx"
import { sessionMessages } from "./messages.ts"
import "./session.css"

interface ActionsProps {
  readonly session: Session
  readonly onUpdate: (change: UpdateSession) => Promise<unknown>
}

const SessionActions = ({ onUpdate, session }: ActionsProps) => {
  const messages = useMessages(sessionMessages)
  const { id: sessionId, projectId, state, title } = session
  const isActive = state === "active"
  return (
    <>
      <FormDialog
        trigger={messages.rename}
        title={messages.rename}
        submit={messages.save}
        onSubmit={(form) => onUpdate({ title: textIn(form, "title") })}
      >
        <Field label={messages.name}>
          <input name="title" required maxLength={200} defaultValue={title} autoComplete="off" />
        </Field>
      </FormDialog>
      {state !== "closed" && (
        <button
          type="button"
          className="button"
          // The page shows a failure of the update.
          onClick={() => void onUpdate({ state: isActive ? "archived" : "active" }).catch(() => undefined)}
        >
          {isActive ? messages.archive : messages.activate}
        </button>
      )}
      {isActive && (
        <Link to="/start" search={{ projectId, sessionId }} className="button">
          {messages.start}
        </Link>
      )}
    </>
  )
}

interface ContentProps {
  readonly session: Session
  readonly mayWrite: boolean
}

const SessionContent = ({ mayWrite, session }: ContentProps) => {
  const messages = useMessages(sessionMessages)
  // The agents and runs below keep their place only when the messages are there.
  if (useSessionMessages(session.id).isLoading) return <Loading />
  return (
    <div className="columns">
      <section aria-label={messages.messages}>
        <h2>{messages.messages}</h2>
        <SessionMessageLog session={session} mayWrite={mayWrite} />
      </section>
      <div>
        <section aria-label={messages.agents}>
          <h2>{messages.agents}</h2>
          <SessionAgentList session={session} mayWrite={mayWrite} />
        </section>
        <section aria-label={messages.runs}>
          <h2>{messages.runs}</h2>
          <RunList filter={{ sessionId: session.id }} />
        </section>
      </div>
    </div>
  )
}

export const SessionPage = ({ sessionId }: { readonly sessionId: string }) => {
  const messages = useMessages(sessionMessages)
  const client = useQueryClient()
  const id = sessionId as SessionId
  const {
    data: session,
    error,
    isLoading
  } = useQuery({
    queryKey: ["sessions", "one", id],
    queryFn: ({ signal }) => hubApi.sessions.get({ params: { id }, signal })
  })
  const update = useMutation({
    mutationFn: (payload: UpdateSession) => hubApi.sessions.update({ params: { id }, payload }),
    onSettled: () => client.invalidateQueries({ queryKey: ["sessions"] })
  })
  const project = useProjectName(session?.projectId)
  const mayWork = useCanWork(session?.projectId)
  if (session === undefined)
    return (
      <PageFrame title={messages.title} above={<Link to="/projects">{messages.project}</Link>}>
        {isLoading && <Loading />}
        <RefusalNote error={error} />
      </PageFrame>
    )
  const { projectId, state, title } = session
  const isActive = state === "active"
  return (
    <PageFrame
      title={title}
      above={
        <Link to="/projects/$projectId" params={{ projectId }}>
          {project ?? projectId}
        </Link>
      }
      actions={mayWork && <SessionActions session={session} onUpdate={update.mutateAsync} />}
    >
      <RefusalNote error={update.error} />
      {!isActive && (
        <p>
          <StateBadge state={state} /> {messages.readOnly}
        </p>
      )}
      <SessionContent session={session} mayWrite={isActive && mayWork} />
    </PageFrame>
  )
}
