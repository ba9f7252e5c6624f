/** Page of one run: its turn, open. A run of a session links to the session's thread, where the work continues. */
import { messageOfPrompt } from "@corral/domain/session/TranscribedPrompt"
import type { DiffBlock } from "@corral/domain/run/RunBlock"
import type { HubApproval, HubInput, HubRun } from "@corral/domain/hub-api/HubRun"
import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useEffect, useMemo, useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { usePendingInputsOf } from "../api/Pending.ts"
import { useAgentName, useCanWork } from "../api/ProjectsAndTargets.ts"
import { ApprovalDock } from "../approval/ApprovalDock.tsx"
import { usePendingApprovalsOf } from "../approval/usePendingApprovalsOf.ts"
import { InputDock } from "../input/InputDock.tsx"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { useDevice } from "../api/Device.ts"
import { DeviceBanner } from "./DeviceBanner.tsx"
import { DeviceName } from "./DeviceName.tsx"
import { FollowedWork, isEnded } from "./FollowedWork.tsx"
import { PanelButtons } from "./PanelButtons.tsx"
import { TypedMessage } from "./PersonMessage.tsx"
import { useRunPlace } from "./RunPlace.ts"
import { SidePanel } from "./SidePanel.tsx"
import { ThreadFrame } from "./ThreadFrame.tsx"
import {
  heardStatus,
  StateAnnouncement,
  statusOfRun,
  ThreadState,
  usePersonalStatus
} from "./ThreadState.tsx"
import { TurnButtons } from "./TurnButtons.tsx"
import { TurnFailure } from "./TurnFailure.tsx"
import { TurnFooter } from "./TurnFooter.tsx"
import { type ThreadPanel, useThreadPanel } from "./useThreadPanel.ts"
import { useTurnControl } from "./useTurnControl.ts"
import { useTurnSummary } from "./useTurnSummary.ts"
import { Loading } from "../ui/Loading.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { UnsentText } from "../ui/UnsentText.ts"
import { useKeptTexts } from "../ui/useKeptTexts.tsx"
import { RunDetails } from "./RunDetails.tsx"
import { RunMessageForm } from "./RunMessageForm.tsx"
import { runMessages } from "../run/messages.ts"
import "./thread.css"

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
            after={isOver && <RunEnd run={run} diff={summary?.diff} onPanel={panel.open} />}
          />
        </section>
      </ThreadFrame>
    </UnsentText>
  )
}

interface Props {
  readonly runId: string
  /** Search parameter. */
  readonly panel?: string | undefined
}

export const RunPage = ({ panel, runId }: Props) => {
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
