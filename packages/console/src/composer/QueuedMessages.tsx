/** Messages that no agent has yet, above the composer: queued, waiting for their device, or failed. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { Message } from "@corral/domain/session/Message"
import type { Session } from "@corral/domain/session/Session"
import { useState } from "react"
import { useTargets } from "../api/ProjectsAndTargets.ts"
import { visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { useFinish } from "./useFinish.ts"
import { Icon, type IconName } from "../ui/Icon.tsx"
import { useErrorSentence } from "../ui/errorSentence.ts"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { AttachmentList } from "./AttachmentList.tsx"
import { EditMessage } from "./EditMessage.tsx"
import { HeldNote } from "./HeldNote.tsx"
import { type QueueState, queueState } from "./QueueState.ts"
import { useQueuedMessage } from "./useQueuedMessage.ts"
import { composerMessages } from "./messages.ts"
import "./composer.css"

const icons: { readonly [S in QueueState]?: IconName } = { failed: "error", held: "pause", waits: "offline" }

/** Longest text that is shown whole. */
const MAX_SHOWN = 1_000

interface Props {
  readonly session: Session
  /** Pending and failed messages, oldest first. */
  readonly messages: ReadonlyArray<Message>
  /** Whether the user can write in the session. */
  readonly mayWrite: boolean
  /** Runs that only work in the background, by their agent. A message can wait for their end. */
  readonly idleRuns: ReadonlyMap<string, HubRun["id"]>
}

interface RowProps extends Props {
  readonly message: Message
}

/** The agent that receives the message, as its device offers it now. */
const useAgentFacts = ({ agents, projectId }: Session, { to }: Message) => {
  const agent = agents.find(({ id }) => id === to)
  const target = useTargets(projectId).find(({ id }) => id === agent?.targetId)
  const offered = target?.agents.find(({ id }) => id === agent?.agentId)
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

export const QueuedMessages = (props: Props) => {
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
