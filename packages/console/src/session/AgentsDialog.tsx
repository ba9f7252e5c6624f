/** Dialog with the agents of a session. Open while it is rendered. */
import { Dialog } from "@base-ui/react/dialog"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { findAgent } from "@corral/domain/offer/Offer"
import type { Agent } from "@corral/domain/run/Agent"
import type { AgentInstance } from "@corral/domain/run/AgentProfile"
import type { Session } from "@corral/domain/session/Session"
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { hubApi } from "../api/Hub.ts"
import { targetsQuery, useMemberName } from "../api/ProjectsAndTargets.ts"
import { useRunTail } from "../board/RunTail.tsx"
import { AddAgentDialog } from "../composer/AgentDialogs.tsx"
import { LimitFields, limitMessages, limitsIn, limitTexts } from "../composer/TurnLimits.tsx"
import { composerMessages } from "../composer/messages.ts"
import { visibleLine } from "../markdown/visible.ts"
import { sentenceSpace, useLanguage, useMessages } from "../text/Language.tsx"
import { isEnded } from "../thread/FollowedWork.tsx"
import { ThreadState, statusOfRun, usePersonalStatus } from "../thread/ThreadState.tsx"
import { threadMessages } from "../thread/messages.ts"
import { useOfflineText } from "../thread/DeviceBanner.tsx"
import type { ThreadData } from "../thread/useThread.ts"
import { ConfirmDialog, FormDialog, useAction } from "../ui/Dialogs.tsx"
import { Icon } from "../ui/Icon.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { Time } from "../ui/Time.tsx"
import { uiMessages } from "../ui/messages.ts"
import { absenceOf, agentStatus, workOfAgent } from "./agentWork.ts"
import { sessionMessages } from "./messages.ts"
import "./session.css"

/** Button that opens the dialog for another agent of a session. */
const AddSessionAgent = ({ session }: { readonly session: Session }) => {
  const messages = useMessages(sessionMessages)
  const action = useAction()
  return (
    <div className="part-actions after">
      <button type="button" className="button small" onClick={() => action.setOpen(true)}>
        {messages.addAgent}
      </button>
      <AddAgentDialog session={session} action={action} />
    </div>
  )
}

interface RowProps {
  readonly session: Session
  readonly agent: AgentInstance
  readonly thread: ThreadData
  readonly mayWrite: boolean
  readonly onDefault: () => void
  readonly onRemove: () => Promise<void>
  readonly onChanged: () => Promise<unknown>
  readonly onShow: () => void
}

/** What the agent does, and what its turn waits for. */
const useAgentWork = ({ agent, session, thread }: Pick<RowProps, "agent" | "session" | "thread">) => {
  const targets = useQuery(targetsQuery(session.projectId)).data
  const { entries, queued: queue, runsById: runs } = thread
  const { queued, run, turn } = workOfAgent(agent.id, { entries, queue, runs })
  const isOfTurn = ({ runId }: { readonly runId: HubRun["id"] }) => runId === turn?.runId
  const [approvals, inputs] = [thread.approvals.filter(isOfTurn), thread.inputs.filter(isOfTurn)]
  const isLive = turn !== undefined && turn.answer === undefined && !isEnded(run?.state)
  const isWaiting = approvals.length + inputs.length > 0
  const live = run === undefined ? "working" : statusOfRun(run, isWaiting)
  const status = usePersonalStatus(live, { approvals, inputs })
  const absence = absenceOf(agent, targets)
  const device = targets?.items.find(({ id }) => id === agent.targetId)
  return {
    status: agentStatus({
      live: isLive ? status : undefined,
      absence,
      isOffline: device?.state === "offline",
      isHeld: agent.held !== undefined,
      queued
    }),
    absence,
    approval: approvals[0],
    device,
    input: inputs[0],
    isLive,
    queued,
    run,
    turn
  }
}

type AgentFacts = ReturnType<typeof useAgentWork>

const AgentState = ({ run, status }: AgentFacts) => {
  const { states } = useMessages(sessionMessages)
  if (status !== "held" && status !== "gone" && status !== "idle")
    return <ThreadState status={status} since={run?.createdAt} />
  return (
    <span className={`thread-state agent-state-${status}`}>
      <span aria-hidden="true">{{ held: "▮▮", gone: "⊘", idle: "○" }[status]} </span>
      {states[status]}
    </span>
  )
}

/** The latest line of a run in progress. */
const RunningLine = ({ isHeard, run }: { readonly run: HubRun; readonly isHeard: boolean }) => {
  const messages = useMessages(threadMessages)
  const line = visibleLine(useRunTail(run).line ?? messages.working, 200)
  return isHeard ? line : messages.lastHeard(line)
}

/** Why the queue of the agent is held. */
const HeldLine = ({ agent, queued, session }: Pick<RowProps, "agent" | "session"> & { queued: number }) => {
  const messages = useMessages(composerMessages)
  const { user } = useCurrentUser()
  const { by, reason } = agent.held ?? {}
  const member = useMemberName(session.projectId, by)
  const person = by === user.id ? messages.you : visibleLine(member ?? "", 60)
  const why = reason === "failed" ? messages.heldAfterFailure("") : messages.heldAfterStop("", person)
  return queued === 0 ? why : `${why}${messages.between}${messages.heldCount(queued)}`
}

const EndedLine = ({ run, turn }: AgentFacts) => {
  const gap = sentenceSpace[useLanguage().language]
  const messages = useMessages(sessionMessages)
  const { states } = useMessages(threadMessages)
  const at = run?.endedAt ?? turn?.answer?.createdAt
  if (turn === undefined || at === undefined) return messages.noTurns
  return (
    <>
      {messages.lastTurn(states[turn.answer?.outcome ?? "completed"])}
      {gap}
      <Time at={at} />
    </>
  )
}

const AgentLine = ({
  agent,
  facts,
  session
}: Pick<RowProps, "agent" | "session"> & { facts: AgentFacts }) => {
  const messages = useMessages(sessionMessages)
  const gap = sentenceSpace[useLanguage().language]
  const offline = useOfflineText(facts.device)
  const { absence, approval, device, input, isLive, queued, run, status } = facts
  const name = visibleLine(device?.name ?? "", 60)
  if (status === "gone" && absence !== undefined) return messages.absent[absence](name, agent.workspace)
  if (approval !== undefined) {
    const { command, title } = approval.request
    return command === undefined ? visibleLine(title, 200) : <code>{visibleLine(command, 200)}</code>
  }
  if (input !== undefined) return visibleLine(input.title, 200)
  if (status === "held") return <HeldLine {...{ agent, queued, session }} />
  if (status === "background" && run?.outstanding !== undefined)
    return visibleLine(run.outstanding.titles.join(", "), 200)
  if (isLive && run !== undefined && run.state !== "queued")
    return <RunningLine run={run} isHeard={status !== "offline"} />
  if (status === "offline") return queued === 0 ? offline : `${offline}${gap}${messages.counted(queued)}`
  return status === "queued" ? messages.counted(Math.max(1, queued)) : <EndedLine {...facts} />
}

interface AgentLimitsProps {
  readonly agent: AgentInstance
  readonly offered: Agent | undefined
  readonly onChanged: () => Promise<unknown>
}

/** Button that opens the dialog for the limits of an agent's turns. */
const AgentLimits = ({ agent, offered, onChanged }: AgentLimitsProps) => {
  const messages = useMessages(limitMessages)
  const save = async (form: FormData): Promise<void> => {
    const { budget = null, timeoutMs = null } = limitsIn(form)
    await hubApi.sessions.updateAgent({
      params: { id: agent.sessionId, agentInstanceId: agent.id },
      payload: { budget, timeoutMs }
    })
    await onChanged()
  }
  return (
    <FormDialog
      trigger={messages.change}
      triggerClass="quiet-button"
      title={`${messages.limits} · ${visibleLine(agent.label, 60)}`}
      submit={messages.save}
      onSubmit={save}
    >
      <LimitFields agent={offered} limits={agent} hint={messages.defaultsHint} />
      <p className="quiet">{messages.saved}</p>
    </FormDialog>
  )
}

const AgentRow = (props: RowProps) => {
  const { agent, mayWrite, onChanged, onDefault, onRemove, onShow, session, thread } = props
  const messages = useMessages(sessionMessages)
  const { language } = useLanguage()
  const { defaultModel } = useMessages(composerMessages)
  const { modes } = useMessages(uiMessages)
  const facts = useAgentWork({ agent, session, thread })
  const { isLive, run, status, turn } = facts
  const offered = findAgent(facts.device?.agents, agent.agentId)
  const isDefault = session.agents.length > 1 && agent.id === session.defaultAgentInstanceId
  const isClosed = agent.closedAt !== undefined
  const mayChange = mayWrite && !isClosed && status !== "gone"
  const model = (isLive ? run?.model : undefined) ?? agent.model ?? defaultModel
  const place = [facts.device?.name, agent.workspace].filter((part) => part !== undefined)
  return (
    <li className="agent">
      <div className="agent-head">
        <Icon name="agent" />
        <strong>
          <bdi>{visibleLine(agent.label, 100)}</bdi>
        </strong>
        {isDefault && <span className="badge">{messages.isDefault}</span>}
        {isClosed && (
          <span className="badge" title={messages.closedHint}>
            {messages.closed}
          </span>
        )}
        <AgentState {...facts} />
      </div>
      <p className={`agent-line agent-line-${status}`}>
        <bdi>
          <AgentLine {...{ agent, facts, session }} />
        </bdi>
      </p>
      <div className="agent-foot">
        <span className="agent-place">
          <bdi>{place.map((part) => visibleLine(part, 60)).join(" · ")}</bdi>
          <bdi>{[visibleLine(model, 60), modes[agent.mode], ...limitTexts(agent, language)].join(" · ")}</bdi>
        </span>
        <span className="agent-actions">
          {turn !== undefined && (
            <Link
              to="."
              search={(before: object) => ({ ...before, at: turn.runId })}
              className="quiet-button"
              onClick={onShow}
            >
              {messages.show}
            </Link>
          )}
          {mayChange && session.agents.length > 1 && !isDefault && (
            <button type="button" className="quiet-button" onClick={onDefault}>
              {messages.makeDefault}
            </button>
          )}
          {mayChange && <AgentLimits agent={agent} offered={offered} onChanged={onChanged} />}
          {mayWrite && (
            <ConfirmDialog
              trigger={messages.removeAgent}
              triggerClass="quiet-button"
              title={messages.removeTitle(agent.label)}
              confirm={messages.removeAgent}
              onConfirm={onRemove}
            >
              {messages.removeText}
            </ConfirmDialog>
          )}
        </span>
      </div>
    </li>
  )
}

interface SessionAgentListProps {
  readonly session: Session
  readonly thread: ThreadData
  /** Whether the user can change the session. */
  readonly mayWrite: boolean
  /** Called when a turn is shown behind the list. */
  readonly onShow: () => void
}

/** Agents of a session: what each does now or waits for, its device and workspace, its model and its mode. */
const SessionAgentList = ({ mayWrite, onShow, session, thread }: SessionAgentListProps) => {
  const messages = useMessages(sessionMessages)
  const client = useQueryClient()
  const { agents, id } = session
  const refresh = () => client.invalidateQueries({ queryKey: ["sessions", "one", id] })
  const makeDefault = useMutation({
    mutationFn: (agent: AgentInstance) =>
      hubApi.sessions.update({ params: { id }, payload: { defaultAgentInstanceId: agent.id } }),
    onSettled: refresh
  })
  const remove = async (agent: AgentInstance): Promise<void> => {
    await hubApi.sessions.removeAgent({ params: { id }, query: { agentInstanceId: agent.id } })
    await refresh()
  }
  return (
    <>
      {agents.length === 0 ? (
        <p className="quiet">{messages.noAgents}</p>
      ) : (
        <ul className="rows agents" aria-label={messages.agents}>
          {agents.map((agent) => (
            <AgentRow
              key={agent.id}
              {...{ agent, mayWrite, onShow, session, thread }}
              onDefault={() => makeDefault.mutate(agent)}
              onRemove={() => remove(agent)}
              onChanged={refresh}
            />
          ))}
        </ul>
      )}
      {agents.length > 1 && <p className="quiet">{messages.defaultHint}</p>}
      <RefusalNote error={makeDefault.error} />
      {mayWrite && <AddSessionAgent session={session} />}
    </>
  )
}

interface AgentsDialogProps {
  readonly session: Session
  readonly thread: ThreadData
  readonly mayWrite: boolean
  readonly onClose: () => void
}

export const AgentsDialog = ({ mayWrite, onClose, session, thread }: AgentsDialogProps) => {
  const messages = useMessages(threadMessages)
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog agents-dialog">
          <Dialog.Title className="dialog-title">{messages.agents}</Dialog.Title>
          <SessionAgentList {...{ mayWrite, session, thread }} onShow={onClose} />
          <div className="dialog-actions">
            <Dialog.Close className="button">{messages.close}</Dialog.Close>
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
