/** One session: what people and agents said, who takes part, and the runs that came of it. */
import type { SessionId } from "@corral/domain/identity/Ids"
import type { UpdateSession } from "@corral/domain/session/Session"
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { hub } from "../api/Hub.ts"
import { useMayWork, useProjectName } from "../api/Known.ts"
import { RunList } from "../runs/RunList.tsx"
import { useWords } from "../text/Language.tsx"
import { Field, textIn } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { Page } from "../ui/Page.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { StateBadge } from "../ui/StateBadge.tsx"
import { SessionAgents } from "./SessionAgents.tsx"
import { SessionMessages } from "./SessionMessages.tsx"
import { sessionWords } from "./messages.ts"
import "./session.css"

export const SessionPage = ({ sessionId }: { readonly sessionId: string }) => {
  const words = useWords(sessionWords)
  const client = useQueryClient()
  const id = sessionId as SessionId
  const { data: session, error } = useQuery({
    queryKey: ["sessions", "one", id],
    queryFn: ({ signal }) => hub.sessions.get({ params: { id }, signal })
  })
  const update = useMutation({
    mutationFn: (payload: UpdateSession) => hub.sessions.update({ params: { id }, payload }),
    onSettled: () => client.invalidateQueries({ queryKey: ["sessions"] })
  })
  const project = useProjectName(session?.projectId)
  const mayWork = useMayWork(session?.projectId)
  if (session === undefined)
    return (
      <Page title={words.title}>
        <RefusalNote error={error} />
      </Page>
    )
  const { projectId, state, title } = session
  const isActive = state === "active"
  return (
    <Page
      title={title}
      above={
        <Link to="/projects/$projectId" params={{ projectId }}>
          {project ?? projectId}
        </Link>
      }
      actions={
        mayWork && (
          <>
            <FormDialog
              trigger={words.rename}
              title={words.rename}
              submit={words.save}
              onSubmit={(form) => update.mutateAsync({ title: textIn(form, "title") })}
            >
              <Field label={words.name}>
                <input name="title" required maxLength={200} defaultValue={title} autoComplete="off" />
              </Field>
            </FormDialog>
            {state !== "closed" && (
              <button
                type="button"
                className="button"
                onClick={() => update.mutate({ state: isActive ? "archived" : "active" })}
              >
                {isActive ? words.archive : words.activate}
              </button>
            )}
            {isActive && (
              <Link to="/start" search={{ projectId, sessionId }} className="button">
                {words.start}
              </Link>
            )}
          </>
        )
      }
    >
      <RefusalNote error={update.error} />
      {!isActive && (
        <p>
          <StateBadge state={state} /> {words.readOnly}
        </p>
      )}
      <div className="columns">
        <section aria-label={words.messages}>
          <h2>{words.messages}</h2>
          <SessionMessages session={session} mayWrite={isActive && mayWork} />
        </section>
        <div>
          <section aria-label={words.agents}>
            <h2>{words.agents}</h2>
            <SessionAgents session={session} mayWrite={isActive && mayWork} />
          </section>
          <section aria-label={words.runs}>
            <h2>{words.runs}</h2>
            <RunList filter={{ sessionId: id }} />
          </section>
        </div>
      </div>
    </Page>
  )
}
