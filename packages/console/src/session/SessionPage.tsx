/** Page of a session: its menu, its thread, with the composer, or an approval or a question that waits, below, and the side panel. */
import { Menu } from "@base-ui/react/menu"
import { pathOf } from "@corral/client/http/Endpoints"
import { hubPaths } from "@corral/client/hubPaths"
import type { HubApproval, HubInput, HubRun } from "@corral/domain/hub-api/HubRun"
import type { SessionId } from "@corral/domain/identity/Ids"
import { limitsOfTurn } from "@corral/domain/run/Budget"
import type { Message } from "@corral/domain/session/Message"
import type { Session, UpdateSession } from "@corral/domain/session/Session"
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { Link, useNavigate } from "@tanstack/react-router"
import { useCallback, useState } from "react"
import { hubApi, messageLimit, useIdempotencyKey } from "../api/Hub.ts"
import { useCanWork, useDevice } from "../api/ProjectsAndTargets.ts"
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
import { ReadMarker, ThreadEntries } from "../thread/ThreadEntries.tsx"
import {
  PanelButtons,
  SidePanel,
  ThreadFrame,
  type ThreadPanel,
  useThreadPanel
} from "../thread/ThreadFrame.tsx"
import { StateAnnouncement, ThreadState, heardStatus } from "../thread/ThreadState.tsx"
import { TurnButtons, type TurnControl, useTurnControl } from "../thread/TurnButtons.tsx"
import { type TurnEntry, agentOf, turnsIn } from "../thread/Turns.ts"
import { threadMessages } from "../thread/messages.ts"
import { type ThreadData, useThread } from "../thread/useThread.ts"
import { Icon } from "../ui/Icon.tsx"
import { Loading } from "../ui/ListStates.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { UnsentText } from "../ui/UnsentText.tsx"
import { AgentsDialog } from "./AgentsDialog.tsx"
import { RenameSession } from "./RenameSession.tsx"
import { sessionMessages } from "./messages.ts"
import "../thread/thread.css"

interface Props {
  readonly session: Session
  /** A fork has the conversation up to its newest message. */
  readonly thread: ThreadData
  /** Whether the user's role allows changes. */
  readonly mayWork: boolean
  readonly onUpdate: (change: UpdateSession) => Promise<unknown>
}

/** A download by a link, which the browser names after the answer's header. */
const download = (id: string, format: "markdown" | "json"): void => {
  const link = document.createElement("a")
  link.href = `${pathOf(hubPaths.conversations.export[1], { params: { id } })}?format=${format}`
  link.download = ""
  link.click()
}

/** Menu of a session: rename, agents, fork, export, copy of its id, archive. */
const ThreadMenu = ({ mayWork, onUpdate, session, thread }: Props) => {
  const { newest } = thread
  const messages = useMessages(threadMessages)
  const navigate = useNavigate()
  const client = useQueryClient()
  const keyOf = useIdempotencyKey()
  const [dialog, setDialog] = useState<"rename" | "agents">()
  const { id, projectId, state } = session
  const fork = useMutation({
    mutationFn: (messageId: Message["id"]) =>
      hubApi.conversations.fork({ params: { id }, headers: keyOf({ messageId }), payload: { messageId } }),
    onSuccess: async (created) => {
      await client.invalidateQueries({ queryKey: ["sessions"] })
      await navigate({ to: "/sessions/$sessionId", params: { sessionId: created.id } })
    }
  })
  // The page shows a failure of an update.
  const archive = () =>
    void onUpdate({ state: state === "active" ? "archived" : "active" }).catch(() => undefined)
  const close = () => setDialog(undefined)
  return (
    <>
      <Menu.Root>
        <Menu.Trigger className="icon-button" aria-label={messages.more}>
          <Icon name="more" size={18} />
        </Menu.Trigger>
        <Menu.Portal>
          <Menu.Positioner className="menu-positioner" sideOffset={6} align="end">
            <Menu.Popup className="menu">
              {mayWork && (
                <Menu.Item className="menu-item" onClick={() => setDialog("rename")}>
                  {messages.rename}
                </Menu.Item>
              )}
              <Menu.Item className="menu-item" onClick={() => setDialog("agents")}>
                {messages.agents}
              </Menu.Item>
              {mayWork && newest !== undefined && (
                <Menu.Item className="menu-item" onClick={() => fork.mutate(newest.id)}>
                  {messages.fork}
                </Menu.Item>
              )}
              <Menu.Item
                className="menu-item"
                onClick={() => void navigate({ to: "/projects/$projectId", params: { projectId } })}
              >
                {messages.project}
              </Menu.Item>
              <Menu.Separator className="menu-line" />
              <Menu.Item className="menu-item" onClick={() => download(id, "markdown")}>
                {messages.exportMarkdown}
              </Menu.Item>
              <Menu.Item className="menu-item" onClick={() => download(id, "json")}>
                {messages.exportJson}
              </Menu.Item>
              <Menu.Item className="menu-item" onClick={() => void navigator.clipboard.writeText(id)}>
                {messages.copyId}
              </Menu.Item>
              {mayWork && state !== "closed" && (
                <>
                  <Menu.Separator className="menu-line" />
                  <Menu.Item className="menu-item" onClick={archive}>
                    {state === "active" ? messages.archive : messages.reopen}
                  </Menu.Item>
                </>
              )}
            </Menu.Popup>
          </Menu.Positioner>
        </Menu.Portal>
      </Menu.Root>
      <RenameSession session={dialog === "rename" ? session : undefined} onClose={close} />
      {dialog === "agents" && (
        <AgentsDialog {...{ session, thread }} mayWrite={mayWork && state === "active"} onClose={close} />
      )}
    </>
  )
}

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

/** Sends a message of this page: a prompt again, or the comments of a review. It waits for a device that is offline, as the banner says. */
const useSend = (id: SessionId) => {
  const client = useQueryClient()
  const keyOf = useIdempotencyKey()
  return useMutation({
    mutationFn: (
      payload: Pick<Message, "text"> &
        Partial<Pick<Message, "to" | "mode" | "model" | "budget" | "timeoutMs">>
    ) =>
      hubApi.sessions.addMessage({
        params: { id },
        headers: keyOf(payload),
        payload: { ...payload, onOffline: "queue" },
        ...messageLimit
      }),
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
