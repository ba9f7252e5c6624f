/**
 * Composer of a session: text, files, what applies to the next message, the answer to an open question, and Escape twice, which stops the agent.
 *
 * Guarantees: the draft is kept until the Hub has the message. Only a click sends the text as an answer.
 */
import { limitsOfTurn } from "@corral/domain/run/Budget"
import type { Session } from "@corral/domain/session/Session"
import { type RefObject, useEffect, useEffectEvent, useRef, useState } from "react"
import { useCanWork } from "../api/ProjectsAndTargets.ts"
import { leaveForText } from "../keys/TextKey.ts"
import { AnswerNote, useAnswer } from "../input/Answer.tsx"
import { type TextQuestion, textAnswer } from "../input/FormDraft.ts"
import { inputMessages } from "../input/messages.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { useMedia } from "../ui/useMedia.ts"
import { AttachButton, DropArea, FileChips } from "./AttachedFiles.tsx"
import { type CandidateChoice, useCandidatesHint, useStartCandidates } from "./CandidatesDialog.tsx"
import { type Draft, useDraftReadiness, useSessionDraft, useStoredDraft } from "./Draft.ts"
import { MessageField } from "./MessageField.tsx"
import { type Recipient, SessionChips, choiceFields, modesFor, useRecipient } from "./SessionChips.tsx"
import { SendButton, useSendMessage } from "./SendMessage.tsx"
import { composerMessages } from "./messages.ts"
import "./composer.css"

interface AnswerWithTextProps extends TextQuestion {
  readonly draft: Draft
}

/** Button that sends the text of the composer as the answer to the open question. Nothing but a click on it does that. */
const AnswerWithText = ({ draft, input, question }: AnswerWithTextProps) => {
  const messages = useMessages(inputMessages)
  const sent = useRef("")
  const answer = useAnswer(input, { onSent: () => draft.removeSent(sent.current, []) })
  const isReady = useDraftReadiness(draft) === "ready" && draft.files.list().length === 0
  const send = () => {
    sent.current = draft.text()
    answer.mutate({ answers: { [question.id]: textAnswer(question, sent.current.trim()) } })
  }
  if (!isReady) return null
  return (
    <>
      <button
        type="button"
        className="button composer-button composer-answer"
        title={messages.withThisTextHint(visibleLine(question.text, 200))}
        disabled={answer.isPending}
        onClick={send}
        onKeyDown={leaveForText}
      >
        {messages.withThisText}
      </button>
      <AnswerNote error={answer.error} />
    </>
  )
}

/** The agents that receive the next message at the same time, and their start. */
const useSeveral = (session: Session, draft: Draft, recipient: Recipient) => {
  const [candidates, setCandidates] = useState<ReadonlyArray<CandidateChoice>>([])
  const start = useStartCandidates(draft, () => setCandidates([]))
  const { hint, isBlocked } = useCandidatesHint(draft, candidates)
  const { agent, choice, isOffline } = recipient
  const { mode } = modesFor(recipient, candidates)
  return {
    candidates,
    setCandidates,
    hint,
    error: start.error,
    isPending: start.isPending,
    isBlocked,
    submit: () => {
      if (agent === undefined || mode === undefined || isBlocked) return
      start.mutate({
        projectId: session.projectId,
        sessionId: session.id,
        targetId: agent.targetId,
        workspace: agent.workspace,
        limits: choice.limits ?? {},
        waits: isOffline,
        candidates,
        mode
      })
    }
  }
}

/** Time for the second press. */
const ARMED_MS = 4_000

/** Places where Escape closes something. */
const CLOSABLE = "[role=dialog], [role=alertdialog], [role=menu], [aria-expanded=true][role=combobox]"

/**
 * Stop by Escape, twice: Escape also closes menus and lists, and one press too many must not stop an agent. Returns whether a first Escape was
 * pressed. Without `onStop` there is nothing to stop.
 */
const useEscapeTwice = (onStop: (() => void) | undefined): boolean => {
  const [armed, setArmed] = useState(false)
  const isArmed = armed && onStop !== undefined
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    const { defaultPrevented, isComposing, key, keyCode, target } = event
    if (isComposing || keyCode === 229) return
    const closes = target instanceof Element && target.closest(CLOSABLE) !== null
    if (key !== "Escape" || defaultPrevented || closes) return setArmed(false)
    if (isArmed) onStop()
    setArmed(!isArmed)
  })
  const isListening = onStop !== undefined
  useEffect(() => {
    if (!isListening) return undefined
    const listener = (event: KeyboardEvent) => onKey(event)
    document.addEventListener("keydown", listener)
    return () => document.removeEventListener("keydown", listener)
  }, [isListening])
  useEffect(() => {
    if (!armed) return undefined
    const timer = setTimeout(() => setArmed(false), ARMED_MS)
    return () => clearTimeout(timer)
  }, [armed])
  return isArmed
}

interface ComposerControl {
  readonly isPaused: boolean
  /** Pauses the turn, or resumes it. */
  readonly onPause: () => void
  readonly onStop: () => void
}

interface ComposerProps {
  readonly session: Session
  /** Whether a turn of the default agent is in progress. */
  readonly isWorking: boolean
  /** Stops, pauses and resumes the turn. */
  readonly control: ComposerControl
  /** The open question that a text can answer. */
  readonly question?: TextQuestion | undefined
}

/** What happens to a message. */
const useHint = ({ isNote, isOffline, target }: Recipient, isPaused: boolean): string => {
  const messages = useMessages(composerMessages)
  if (isOffline && target !== undefined) return messages.waitsFor(target.name)
  if (isNote) return messages.noteHint
  return isPaused ? messages.pausedHint : ""
}

/** What the keys do. */
const useKeysHint = ({ takesInput }: Recipient, isWorking: boolean): string => {
  const messages = useMessages(composerMessages)
  const isTouch = useMedia("(pointer: coarse)")
  if (isTouch) return ""
  if (!isWorking) return messages.enterSends
  return `${takesInput ? messages.enterQueuesOrNow : messages.enterQueues} · ${messages.escapeStops}`
}

/** A session opens with the focus in its composer: what is typed next is a message. On a touch screen the keyboard stays closed. */
const useOpeningFocus = (): RefObject<HTMLTextAreaElement | null> => {
  const field = useRef<HTMLTextAreaElement>(null)
  const isTouch = useMedia("(pointer: coarse)")
  const isWanted = useRef(!isTouch)
  useEffect(() => {
    if (isWanted.current) field.current?.focus({ preventScroll: true })
  }, [])
  return field
}

/** Pause and Stop of the turn in progress. */
const WorkButtons = ({ isPaused, onPause, onStop }: ComposerControl) => {
  const messages = useMessages(composerMessages)
  return (
    <>
      <button type="button" className="button composer-button composer-stop" onClick={onPause}>
        <Icon name={isPaused ? "resume" : "pause"} />
        <span className="composer-button-text">{isPaused ? messages.resume : messages.pause}</span>
      </button>
      <button type="button" className="button composer-button composer-stop" onClick={onStop}>
        <Icon name="stop" />
        <span className="composer-button-text">{messages.stop}</span>
      </button>
    </>
  )
}

const OpenComposer = ({ control, isWorking, question, session }: ComposerProps) => {
  const { isPaused, onStop } = control
  const messages = useMessages(composerMessages)
  const draft = useSessionDraft(session.id)
  const field = useOpeningFocus()
  useStoredDraft(draft)
  const recipient = useRecipient(session)
  const send = useSendMessage(session.id, draft)
  const several = useSeveral(session, draft, recipient)
  const isSeveral = several.candidates.length > 0
  const isArmed = useEscapeTwice(isWorking ? onStop : undefined)
  // Only the work of the default agent is known here.
  const isBusy = isWorking && recipient.isDefault
  const hint = useHint(recipient, isBusy && isPaused)
  const keys = useKeysHint(recipient, isBusy)

  const submit = (isForced: boolean) => {
    if (draft.readiness() !== "ready" || send.isPending || several.isPending) return
    if (isSeveral) return several.submit()
    const { budget, mode, model, timeoutMs, ...fields } = choiceFields(recipient)
    // A turn in progress keeps its mode, its model and its limits.
    send.mutate(
      isForced && isBusy && recipient.takesInput
        ? { ...fields, when: "now" }
        : {
            ...fields,
            ...(mode === undefined ? {} : { mode }),
            ...(model === undefined ? {} : { model }),
            ...limitsOfTurn({ budget, timeoutMs }, {})
          }
    )
  }
  return (
    <DropArea
      draft={draft}
      hint={isArmed ? messages.escape : isSeveral ? several.hint : hint}
      keys={keys}
      onSubmit={() => submit(false)}
    >
      <FileChips draft={draft} />
      <MessageField
        draft={draft}
        fieldRef={field}
        placeholder={recipient.isNote ? messages.note : messages.reply(recipient.agent?.label ?? "")}
        place={recipient.place}
        onSubmit={submit}
      />
      <RefusalNote error={isSeveral ? several.error : send.error} />
      <div className="composer-foot">
        <div className="composer-chips">
          <AttachButton draft={draft} />
          <SessionChips
            session={session}
            recipient={recipient}
            candidates={several.candidates}
            onCandidates={several.setCandidates}
          />
        </div>
        {isWorking && <WorkButtons {...control} />}
        {question !== undefined && <AnswerWithText key={question.input.id} draft={draft} {...question} />}
        <SendButton
          draft={draft}
          isBusy={send.isPending || several.isPending || several.isBlocked}
          label={isBusy && !isSeveral ? messages.queue : messages.send}
        />
      </div>
    </DropArea>
  )
}

export const Composer = (props: ComposerProps) => {
  const messages = useMessages(composerMessages)
  const mayWork = useCanWork(props.session.projectId)
  if (props.session.state !== "active") return <p className="composer-closed">{messages.readOnly}</p>
  if (!mayWork) return <p className="composer-closed">{messages.viewer}</p>
  return <OpenComposer {...props} />
}
