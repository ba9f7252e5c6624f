/** Page of a session: its thread, with the composer, or an approval or a question that waits, below, and the side panel. */
import type { HubApproval, HubInput, HubRun } from "@corral/domain/hub-api/HubRun"
import type { SessionId } from "@corral/domain/identity/Ids"
import { limitsOfTurn } from "@corral/domain/run/Budget"
import type { Message } from "@corral/domain/session/Message"
import type { Session, UpdateSession } from "@corral/domain/session/Session"
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useCallback } from "react"
import { useCanWork, useDevice } from "../api/ProjectsAndTargets.ts"
import { hubApi, messageLimit, useIdempotencyKey } from "../api/Hub.ts"
import { sessionQuery } from "../api/Sessions.ts"
import { ApprovalDock } from "../approval/ApprovalDock.tsx"
import { Composer } from "../composer/Composer.tsx"
import { useSessionDraft } from "../composer/Draft.ts"
import { QueuedMessages } from "../composer/QueuedMessages.tsx"
import { openTextQuestion } from "../input/FormDraft.ts"
import { InputDock } from "../input/InputDock.tsx"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { DeviceBanner, DeviceName } from "../thread/DeviceBanner.tsx"
import {
  PanelButtons,
  SidePanel,
  ThreadFrame,
  type ThreadPanel,
  useThreadPanel
} from "../thread/ThreadFrame.tsx"
import { ReadMarker, ThreadEntries } from "../thread/ThreadEntries.tsx"
import { StateAnnouncement, ThreadState, heardStatus } from "../thread/ThreadState.tsx"
import { TurnButtons, type TurnControl, useTurnControl } from "../thread/TurnButtons.tsx"
import { agentOf, type TurnEntry, turnsIn } from "../thread/Turns.ts"
import { type ThreadData, useThread } from "../thread/useThread.ts"
import { Loading } from "../ui/Loading.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { UnsentText } from "../ui/UnsentText.tsx"
import { ThreadMenu } from "./ThreadMenu.tsx"
import { sessionMessages } from "./messages.ts"

interface SessionDockProps {
  readonly session: Session
  readonly approvals: ReadonlyArray<HubApproval>
  readonly inputs: ReadonlyArray<HubInput>
  readonly control: TurnControl
  /** Whether a turn of the default agent is in progress. */
  readonly isWorking: boolean
  readonly error: Error | null
}

/** What stands below a session's thread: an approval or a question that waits, and the composer. */
const SessionDock = ({ approvals, control, error, inputs, isWorking, session }: SessionDockProps) => {
  const draft = useSessionDraft(session.id)
  const keep = useCallback((text: string) => draft.prepend(text), [draft])
  return (
    <UnsentText value={keep}>
      <RefusalNote error={error} />
      <ApprovalDock approvals={approvals} />
      <InputDock inputs={inputs} isHidden={approvals.length > 0} />
      <Composer {...{ control, isWorking, session }} question={openTextQuestion(inputs)} />
    </UnsentText>
  )
}

/** Sends a message of this page: a prompt again, or the comments of a review. */
const useSend = (id: SessionId) => {
  const client = useQueryClient()
  const keyOf = useIdempotencyKey()
  return useMutation({
    mutationFn: (
      payload: Pick<Message, "text"> &
        Partial<Pick<Message, "to" | "mode" | "model" | "budget" | "timeoutMs">>
    ) => hubApi.sessions.addMessage({ params: { id }, headers: keyOf(payload), payload, ...messageLimit }),
    onSettled: () => client.invalidateQueries({ queryKey: ["sessions"] })
  })
}

const useUpdate = (id: SessionId) => {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (payload: UpdateSession) => hubApi.sessions.update({ params: { id }, payload }),
    onSettled: () => client.invalidateQueries({ queryKey: ["sessions"] })
  })
}

const again = (message: Message) => {
  const { mode, model, text, to } = message
  return {
    text,
    ...(to === undefined ? {} : { to }),
    ...(mode === undefined ? {} : { mode }),
    ...(model === undefined ? {} : { model }),
    ...limitsOfTurn(message, {})
  }
}

/** Runs that work in the background after their turn, by the agent that received their prompt. */
const idleRuns = (
  active: ReadonlyArray<TurnEntry>,
  runs: ReadonlyMap<HubRun["id"], HubRun>
): ReadonlyMap<string, HubRun["id"]> =>
  new Map(
    active.flatMap(({ prompts: [first], runId }) =>
      runs.get(runId)?.turn === "idle" && first?.to !== undefined ? [[first.to, runId] as const] : []
    )
  )

/** Sends a prompt again. The same function while the page is open, so that no turn renders for it. */
const useAgain = (mutate: ReturnType<typeof useSend>["mutate"]) =>
  useCallback((prompt: Message) => mutate(again(prompt)), [mutate])

/** What sends comments on a run to the agent that worked in it. `undefined` for one that is closed. */
const commentsOf =
  ({ agents }: Session, { entries }: ThreadData, send: ReturnType<typeof useSend>) =>
  ({ id }: HubRun) => {
    const turn = turnsIn(entries).find(({ runId }) => runId === id)
    const agentId = turn === undefined ? undefined : agentOf(turn)
    const agent = agents.find((each) => each.id === agentId)
    if (agent?.closedAt !== undefined) return undefined
    const to = agent === undefined ? {} : { to: agent.id }
    return (text: string) => send.mutateAsync({ text, ...to })
  }

interface ThreadProps {
  readonly session: Session
  readonly panel: ThreadPanel
  /** A message or a run that is brought into view. */
  readonly at: string | undefined
}

const SessionThread = ({ at, panel, session }: ThreadProps) => {
  const thread = useThread(session)
  const send = useSend(session.id)
  const update = useUpdate(session.id)
  const mayWork = useCanWork(session.projectId)
  const mayWrite = mayWork && session.state === "active"
  const { active, approvals, inputs, newest, queued, runs, runsById, since, status } = thread
  const agent = session.agents.find(({ id }) => id === session.defaultAgentInstanceId)
  const ofDefault = active.filter(({ prompts: [first] }) => first?.to === agent?.id)
  const control = useTurnControl(
    (ofDefault.length === 0 ? active : ofDefault).map(({ runId }) => runId),
    runsById
  )
  const isOffline = useDevice(agent?.targetId)?.state === "offline"
  const onAgain = useAgain(send.mutate)
  const shownRun = runs.find(({ id }) => id === panel.runId) ?? runs[0]
  return (
    <ThreadFrame
      title={visibleLine(session.title, 120)}
      head={
        <>
          <ThreadState status={heardStatus(status, isOffline)} since={since} />
          {agent !== undefined && <DeviceName deviceId={agent.targetId} workspace={agent.workspace} />}
          {mayWork && active.length > 0 && <TurnButtons control={control} />}
          {runs.length > 0 && <PanelButtons tab={panel.tab} onTab={panel.open} />}
          <ThreadMenu {...{ mayWork, session, thread }} onUpdate={update.mutateAsync} />
        </>
      }
      banner={
        <>
          <StateAnnouncement status={status} />
          <DeviceBanner deviceId={agent?.targetId} isWorking={active.length > 0} />
        </>
      }
      dock={
        <SessionDock
          {...{ approvals, control, inputs, session }}
          isWorking={ofDefault.length > 0}
          error={control.error ?? send.error ?? update.error}
        />
      }
      onClosePanel={() => panel.open(undefined)}
      panel={
        panel.tab !== undefined && shownRun !== undefined ? (
          <SidePanel
            run={shownRun}
            runs={runs}
            tab={panel.tab}
            onTab={panel.open}
            onRun={panel.show}
            onClose={() => panel.open(undefined)}
            commentsOf={mayWrite ? commentsOf(session, thread, send) : undefined}
          />
        ) : undefined
      }
    >
      {thread.isLoading ? (
        <Loading />
      ) : (
        <ThreadEntries
          entries={thread.entries}
          {...{ at, session }}
          runs={runsById}
          onEarlier={thread.more}
          isLoading={thread.isLoadingMore}
          onPanel={panel.openRun}
          onAgain={mayWrite ? onAgain : undefined}
        />
      )}
      <RefusalNote error={thread.error} />
      <QueuedMessages
        session={session}
        messages={queued}
        mayWrite={mayWrite}
        idleRuns={idleRuns(active, runsById)}
      />
      <ReadMarker session={session} newest={newest} />
    </ThreadFrame>
  )
}

interface SessionPageProps {
  readonly sessionId: string
  /** Search parameters. */
  readonly panel?: string | undefined
  readonly run?: string | undefined
  readonly at?: string | undefined
}

export const SessionPage = ({ at, panel, run, sessionId }: SessionPageProps) => {
  const messages = useMessages(sessionMessages)
  const id = sessionId as SessionId
  const threadPanel = useThreadPanel(panel, run as HubRun["id"] | undefined)
  const { data: session, error, isLoading } = useQuery(sessionQuery(id))
  if (session === undefined)
    return (
      <PageFrame title={messages.title} above={<Link to="/projects">{messages.project}</Link>}>
        {isLoading && <Loading />}
        <RefusalNote error={error} />
      </PageFrame>
    )
  return <SessionThread session={session} panel={threadPanel} at={at} />
}
