/**
 * Messages that no agent has yet, above the composer: queued, waiting for their device, failed, or held until a user sends them. A withdrawn
 * text comes back into the composer. A message that waits for background work can end that work.
 */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { findAgent } from "@corral/domain/offer/Offer"
import type { AgentInstance } from "@corral/domain/run/AgentProfile"
import type { Message } from "@corral/domain/session/Message"
import type { Session } from "@corral/domain/session/Session"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useState } from "react"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { hubApi, messageLimit, useIdempotencyKey } from "../api/Hub.ts"
import { useMemberName, useTargets } from "../api/ProjectsAndTargets.ts"
import { visibleLine, visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon, type IconName } from "../ui/Icon.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { useErrorSentence } from "../ui/errorSentence.ts"
import { AttachmentList } from "./AttachedFiles.tsx"
import { copiesOf, useSessionDraft } from "./Draft.ts"
import { EditMessage } from "./EditMessage.tsx"
import { composerMessages } from "./messages.ts"
import "./composer.css"

/** Finishes a run that works in the background: the work is stopped, and the run completes. */
export const useFinish = () => {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (id: HubRun["id"]) => hubApi.runs.finish({ params: { id } }),
    onSettled: () => {
      void client.invalidateQueries({ queryKey: ["sessions"] })
      return client.invalidateQueries({ queryKey: ["runs"] })
    }
  })
}

/**
 * `next`: it is the first to its agent. `waits`: its device is offline. `sending`: nothing is before it. `held`: after a stop or an error, until a
 * user continues.
 */
type QueueState = "failed" | "held" | "waits" | "sending" | "next" | "queued"

interface Facts {
  /** Whether the device of its agent is offline. */
  readonly isOffline: boolean
  /** Whether the session has a run in progress. */
  readonly isBusy: boolean
}

/** `queue`: pending and failed messages of the session, oldest first. */
export const queueState = (
  message: Message,
  queue: ReadonlyArray<Message>,
  { isBusy, isOffline }: Facts
): QueueState => {
  if (message.delivery?.state === "failed") return "failed"
  if (message.delivery?.held === true) return "held"
  if (message.when === "now") return "sending"
  if (isOffline) return "waits"
  const first = queue.find(
    ({ delivery, to, when }) =>
      to === message.to && when !== "now" && delivery?.state === "pending" && delivery.held !== true
  )
  if (first?.id !== message.id) return "queued"
  return isBusy ? "next" : "sending"
}

interface HeldNoteProps {
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

/** Why queued messages of an agent are held, and the button that sends them. */
const HeldNote = ({ agent, mayWrite, messages: queue, session }: HeldNoteProps) => {
  const messages = useMessages(composerMessages)
  const proceed = useContinue(agent)
  const { by, code, reason } = agent.held ?? {}
  const { user } = useCurrentUser()
  const member = useMemberName(session.projectId, by)
  const person = by === user.id ? messages.you : member === undefined ? "" : visibleLine(member, 60)
  const count = queue.filter(({ delivery, to }) => to === agent.id && delivery?.held === true).length
  if (reason === undefined || count === 0) return null
  const name = session.agents.length > 1 ? visibleLine(agent.label, 60) : ""
  const why =
    reason === "stopped"
      ? messages.heldAfterStop(name, person)
      : code === "budget_exceeded"
        ? messages.heldAfterBudget(name)
        : messages.heldAfterFailure(name)
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

/** Focus of the session's composer, after an action whose result is there or whose own button is gone. */
const focusComposer = (): void =>
  document.querySelector<HTMLTextAreaElement>(".composer textarea")?.focus({ preventScroll: true })

/** Changes of a message that no agent has yet. A withdrawn text comes back into the composer. */
const useQueuedMessage = (session: Session, message: Message) => {
  const client = useQueryClient()
  const draft = useSessionDraft(session.id)
  const headersOf = useIdempotencyKey()
  const params = { id: session.id, messageId: message.id }
  const onSettled = () => client.invalidateQueries({ queryKey: ["sessions"] })
  const { attachments = [], text } = message

  const withdraw = useMutation({
    mutationFn: async () => {
      await hubApi.sessions.withdrawMessage({ params, ...messageLimit })
      if (draft.offer(text) && attachments.length > 0) draft.files.add(await copiesOf(attachments))
    },
    // The text is there, and the button is gone.
    onSuccess: focusComposer,
    onSettled
  })
  /** For messages without files: those belong to the withdrawn message. */
  const sendNow = useMutation({
    mutationFn: async () => {
      // First, so that the agent receives it once.
      await hubApi.sessions.withdrawMessage({ params, ...messageLimit })
      const payload = {
        text,
        when: "now" as const,
        ...(message.to === undefined ? {} : { to: message.to })
      }
      try {
        await hubApi.sessions.addMessage({
          params: { id: session.id },
          headers: headersOf({ payload, of: message.id }),
          payload,
          ...messageLimit
        })
      } catch (error) {
        draft.prepend(text)
        throw error
      }
    },
    onSettled
  })
  const retry = useMutation({
    mutationFn: () => hubApi.sessions.retryMessage({ params, ...messageLimit }),
    onSettled
  })
  return {
    withdraw,
    sendNow,
    retry,
    isBusy: withdraw.isPending || sendNow.isPending || retry.isPending,
    error: withdraw.error ?? sendNow.error ?? retry.error
  }
}

const icons: { readonly [S in QueueState]?: IconName } = { failed: "error", held: "pause", waits: "offline" }

/** Longest text that is shown whole. */
const MAX_SHOWN = 1_000

interface QueuedMessagesProps {
  readonly session: Session
  /** Pending and failed messages, oldest first. */
  readonly messages: ReadonlyArray<Message>
  /** Whether the user can write in the session. */
  readonly mayWrite: boolean
  /** Runs that only work in the background, by their agent. A message can wait for their end. */
  readonly idleRuns: ReadonlyMap<string, HubRun["id"]>
}

interface RowProps extends QueuedMessagesProps {
  readonly message: Message
}

/** The agent that receives the message, as its device offers it now. */
const useAgentFacts = ({ agents, projectId }: Session, { to }: Message) => {
  const agent = agents.find(({ id }) => id === to)
  const target = useTargets(projectId).find(({ id }) => id === agent?.targetId)
  const offered = findAgent(target?.agents, agent?.agentId)
  return {
    device: target?.name ?? "",
    isOffline: target !== undefined && target.state !== "online",
    takesInput: offered?.capabilities.input === true
  }
}

interface ActionsProps {
  readonly session: Session
  readonly message: Message
  readonly state: QueueState
  readonly maySendNow: boolean
  /** The run that the message waits for, if it only works in the background. */
  readonly idleRun: HubRun["id"] | undefined
  readonly onEdit: () => void
}

const QueueActions = ({ idleRun, maySendNow, message, onEdit, session, state }: ActionsProps) => {
  const messages = useMessages(composerMessages)
  const { error, isBusy, retry, sendNow, withdraw } = useQueuedMessage(session, message)
  const finish = useFinish()
  const action = (label: string, onClick: () => void) => (
    <button type="button" className="button small" disabled={isBusy} onClick={onClick}>
      {label}
    </button>
  )
  return (
    <>
      <span className="queued-actions">
        {state === "failed" ? (
          action(messages.again, () => retry.mutate())
        ) : (
          <>
            {idleRun !== undefined && action(messages.finishAndSend, () => finish.mutate(idleRun))}
            {action(messages.edit, onEdit)}
            {maySendNow && action(messages.sendNow, () => sendNow.mutate())}
            {action(messages.withdraw, () => withdraw.mutate())}
          </>
        )}
      </span>
      <RefusalNote error={error ?? finish.error} />
    </>
  )
}

const QueuedRow = ({ idleRuns, mayWrite, message, messages: queue, session }: RowProps) => {
  const messages = useMessages(composerMessages)
  const textOf = useErrorSentence()
  const [isEditing, setEditing] = useState(false)
  const { device, isOffline, takesInput } = useAgentFacts(session, message)
  const isBusy = session.activeRuns.length > 0
  const state = queueState(message, queue, { isBusy, isOffline })
  const idleRun = message.to === undefined ? undefined : idleRuns.get(message.to)
  const waitsFor = message.delivery?.waitsFor ?? (idleRun === undefined ? undefined : "background")
  const words: { readonly [S in QueueState]: string } = {
    failed: messages.notSent(message.delivery?.error === undefined ? "" : textOf(message.delivery.error)),
    held: messages.held,
    waits: messages.waits(device),
    sending: messages.sending,
    next: waitsFor === undefined ? messages.queuedNext : messages.queuedFor[waitsFor],
    queued: messages.queued
  }
  const text = visibleText(message.text.slice(0, MAX_SHOWN))
  const hasFiles = (message.attachments ?? []).length > 0
  return (
    <li className={state === "failed" ? "queued queued-failed" : "queued"}>
      {isEditing ? (
        <EditMessage message={message} onClose={() => setEditing(false)} />
      ) : (
        <div className="said queued-text">{message.text.length > MAX_SHOWN ? `${text}…` : text}</div>
      )}
      <AttachmentList attachments={message.attachments} />
      {!isEditing && (
        <div className="queued-foot">
          <span className="queued-state">
            <Icon name={icons[state] ?? "clock"} size={14} />
            {words[state]}
          </span>
          {state === "failed" && message.delivery?.error?.code === "budget_exceeded" && (
            <Link to="/usage" search={{ projectId: session.projectId }} className="button small">
              {messages.toLimits}
            </Link>
          )}
          {mayWrite && message.when !== "now" && (
            <QueueActions
              {...{ message, session, state }}
              idleRun={state === "next" ? idleRun : undefined}
              maySendNow={isBusy && takesInput && !isOffline && !hasFiles}
              onEdit={() => setEditing(true)}
            />
          )}
        </div>
      )}
    </li>
  )
}

export const QueuedMessages = (props: QueuedMessagesProps) => {
  const messages = useMessages(composerMessages)
  if (props.messages.length === 0) return null
  return (
    <>
      {props.session.agents.map((agent) => (
        <HeldNote key={agent.id} {...props} agent={agent} />
      ))}
      <ol className="queued-list" aria-label={messages.pendingMessages}>
        {props.messages.map((message) => (
          <QueuedRow key={message.id} {...props} message={message} />
        ))}
      </ol>
    </>
  )
}
