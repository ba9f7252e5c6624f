/** Page of one run: its turn, open. A run of a session links to the session's thread, where the work continues. */
import type { HubApproval, HubInput, HubRun } from "@corral/domain/hub-api/HubRun"
import { confinementFailure } from "@corral/domain/run/ConfinementText"
import type { DiffBlock } from "@corral/domain/run/RunBlock"
import { messageOfPrompt } from "@corral/domain/session/TranscribedPrompt"
import { useMutation, useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { type FormEvent, useEffect, useMemo, useState } from "react"
import { useAgentName, useCanWork, useDevice } from "../api/ProjectsAndTargets.ts"
import { hubApi, useIdempotencyKey } from "../api/Hub.ts"
import { usePendingApprovalsOf, usePendingInputsOf } from "../api/Pending.ts"
import { ApprovalDock } from "../approval/ApprovalDock.tsx"
import { InputDock } from "../input/InputDock.tsx"
import { visibleLine } from "../markdown/visible.ts"
import { runMessages } from "../run/messages.ts"
import { useMessages } from "../text/Language.tsx"
import { Loading } from "../ui/ListStates.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { ShortId } from "../ui/Copy.tsx"
import { UnsentText, useKeptTexts } from "../ui/UnsentText.tsx"
import { uiMessages } from "../ui/messages.ts"
import { DeviceBanner, DeviceName } from "./DeviceBanner.tsx"
import { FollowedWork, isEnded } from "./FollowedWork.tsx"
import { PanelButtons, SidePanel, ThreadFrame, type ThreadPanel, useThreadPanel } from "./ThreadFrame.tsx"
import { TypedMessage } from "./PersonMessage.tsx"
import { useRunPlace } from "./RunPlace.ts"
import {
  StateAnnouncement,
  ThreadState,
  heardStatus,
  statusOfRun,
  usePersonalStatus
} from "./ThreadState.tsx"
import { TurnButtons, useTurnControl } from "./TurnButtons.tsx"
import { TurnFailure, TurnFooter, useTurnSummary } from "./TurnEnd.tsx"
import "./thread.css"

/** What a run was started with, on one quiet line. */
const RunDetails = ({ run }: { readonly run: HubRun }) => {
  const messages = useMessages(runMessages)
  const ui = useMessages(uiMessages)
  const { agentId, confinement, endsWithEdge, id, isolation, mode, model } = run
  const failure = confinement && confinementFailure(confinement, mode)
  const facts = [
    visibleLine(agentId, 60),
    ui.modes[mode],
    ...(model === undefined ? [] : [visibleLine(model, 80)]),
    ...(isolation === "worktree" ? [messages.worktree] : []),
    ...(isolation === "overlay" ? [messages.layer] : []),
    ...(confinement === undefined
      ? []
      : [
          failure === undefined
            ? messages.confinement(confinement.kind)
            : messages.notConfined(visibleLine(failure, 400))
        ]),
    ...(endsWithEdge === true ? [messages.endsWithEdge] : [])
  ]
  return (
    <p className="run-details">
      {facts.join(" · ")} · <ShortId id={id} />
    </p>
  )
}

/** Form for a further message to the agent. A retry after a failure sends the same message. */
const RunMessageForm = ({ id }: { readonly id: HubRun["id"] }) => {
  const messages = useMessages(runMessages)
  const [text, setText] = useState("")
  // The same text sent later is another message.
  const [nth, setNth] = useState(0)
  const headersOf = useIdempotencyKey()
  const sendMessage = useMutation({
    mutationFn: (payload: { readonly text: string; readonly nth: number }) =>
      hubApi.runs.input({ params: { id }, headers: headersOf(payload), payload: { text: payload.text } }),
    onSuccess: () => {
      setNth((now) => now + 1)
      setText("")
    }
  })
  const submit = (event?: FormEvent) => {
    event?.preventDefault()
    if (text.trim() !== "" && !sendMessage.isPending) sendMessage.mutate({ text, nth })
  }
  return (
    <form className="say" onSubmit={submit}>
      <label>
        <span className="hidden">{messages.say}</span>
        <textarea
          rows={2}
          placeholder={`${messages.say} · ${messages.sayHint}`}
          value={text}
          onChange={({ target }) => setText(target.value)}
          onKeyDown={({ ctrlKey, key, metaKey }) => {
            if (key === "Enter" && (ctrlKey || metaKey)) submit()
          }}
        />
      </label>
      <button type="submit" className="button primary" disabled={text.trim() === "" || sendMessage.isPending}>
        {messages.send}
      </button>
      <RefusalNote error={sendMessage.error} />
    </form>
  )
}

interface EndProps {
  readonly run: HubRun
  readonly diff: DiffBlock | undefined
  readonly onPanel: (panel: "changes" | "log") => void
}

/** Why the run failed, and its footer. */
const RunEnd = ({ diff, onPanel, run }: EndProps) => (
  <>
    {run.state === "failed" && <TurnFailure error={run.error} onLog={() => onPanel("log")} />}
    <TurnFooter
      run={run}
      diff={diff}
      answer={run.state === "completed" ? run.resultText : undefined}
      onChanges={() => onPanel("changes")}
    />
  </>
)

const usePlace = ({ agentId, id: runId, input, projectId, targetId }: HubRun) => {
  const agent = visibleLine(useAgentName(targetId, agentId), 60)
  const title = visibleLine(messageOfPrompt(input.text), 90)
  return useRunPlace({ runId, agent, title, projectId, targetId })
}

interface ThreadProps {
  readonly run: HubRun
  readonly approvals: ReadonlyArray<HubApproval>
  readonly inputs: ReadonlyArray<HubInput>
  readonly panel: ThreadPanel
}

const RunThread = ({ approvals, inputs, panel, run }: ThreadProps) => {
  const messages = useMessages(runMessages)
  const { createdAt, id, input, projectId, sessionId, state, targetId, workspace } = run
  const isOver = isEnded(state)
  const mayWork = useCanWork(projectId)
  const control = useTurnControl(
    [id],
    useMemo(() => new Map([[id, run]]), [id, run])
  )
  const place = usePlace(run)
  const summary = useTurnSummary(isOver ? run : undefined)
  const status = usePersonalStatus(statusOfRun(run, approvals.length + inputs.length > 0), {
    approvals,
    inputs
  })
  const isOffline = useDevice(targetId)?.state === "offline"
  const { keep, notes } = useKeptTexts()
  return (
    <UnsentText value={keep}>
      <ThreadFrame
        title={place.title}
        head={
          <>
            <ThreadState status={heardStatus(status, isOffline)} since={createdAt} />
            <DeviceName deviceId={targetId} workspace={workspace} />
            {sessionId !== undefined && (
              <Link to="/sessions/$sessionId" params={{ sessionId }} className="button small">
                {messages.toSession}
              </Link>
            )}
            {mayWork && !isOver && <TurnButtons control={control} />}
            <PanelButtons tab={panel.tab} onTab={panel.open} />
          </>
        }
        banner={
          <>
            <StateAnnouncement status={status} />
            <DeviceBanner deviceId={targetId} isWorking={!isOver} />
          </>
        }
        dock={
          isOver ? (
            notes
          ) : (
            <>
              {notes}
              <RefusalNote error={control.error} />
              <ApprovalDock approvals={approvals} />
              <InputDock inputs={inputs} isHidden={approvals.length > 0} />
              {mayWork && <RunMessageForm id={id} />}
            </>
          )
        }
        onClosePanel={() => panel.open(undefined)}
        panel={
          panel.tab === undefined ? undefined : (
            <SidePanel
              run={run}
              runs={[run]}
              tab={panel.tab}
              onTab={panel.open}
              onRun={panel.show}
              onClose={() => panel.open(undefined)}
            />
          )
        }
      >
        <section className="turn">
          <RunDetails run={run} />
          <TypedMessage author={messages.you} at={createdAt} text={input.text} />
          <FollowedWork
            place={place}
            run={run}
            after={isOver && <RunEnd run={run} diff={summary?.diff} onPanel={panel.open} />}
          />
        </section>
      </ThreadFrame>
    </UnsentText>
  )
}

interface RunPageProps {
  readonly runId: string
  /** Search parameter. */
  readonly panel?: string | undefined
}

export const RunPage = ({ panel, runId }: RunPageProps) => {
  // The id comes from the URL. The Hub validates it.
  const id = runId as HubRun["id"]
  const messages = useMessages(runMessages)
  const threadPanel = useThreadPanel(panel, undefined)
  const run = useQuery({
    queryKey: ["runs", id],
    queryFn: ({ signal }) => hubApi.runs.get({ params: { id }, signal })
  })
  const isInProgress = run.data !== undefined && !isEnded(run.data.state)
  const live = isInProgress ? [id] : []
  const { approvals, isLoading } = usePendingApprovalsOf(live)
  const { inputs, isLoading: isLoadingInputs } = usePendingInputsOf(live)
  // The page appears with its approvals, so that they push nothing away.
  const [isShown, setShown] = useState(false)
  useEffect(
    () => setShown((before) => before || (run.data !== undefined && !isLoading && !isLoadingInputs)),
    [isLoading, isLoadingInputs, run.data]
  )
  if (run.data === undefined || !isShown)
    return (
      <PageFrame
        title={messages.run}
        above={
          <Link to="/runs" activeOptions={{ exact: true }}>
            {messages.runs}
          </Link>
        }
      >
        {run.error === null && <Loading />}
        <RefusalNote error={run.error} again={() => void run.refetch()} />
      </PageFrame>
    )
  return <RunThread run={run.data} approvals={approvals} inputs={inputs} panel={threadPanel} />
}
