/**
 * Composer of a session: text, files, and what applies to the next message.
 *
 * Guarantees: the draft is kept until the Hub has the message.
 */
import type { Session } from "@corral/domain/session/Session"
import { type RefObject, useEffect, useRef } from "react"
import { useCanWork } from "../api/ProjectsAndTargets.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { useMedia } from "../ui/useMedia.ts"
import type { TextQuestion } from "../input/openTextQuestion.ts"
import { AnswerWithText } from "./AnswerWithText.tsx"
import { AttachButton } from "./AttachButton.tsx"
import { useStoredDraft } from "./Draft.ts"
import { DropArea } from "./DropArea.tsx"
import { FileChips } from "./FileChips.tsx"
import { MessageField } from "./MessageField.tsx"
import { SendButton } from "./SendButton.tsx"
import { SessionChips } from "./SessionChips.tsx"
import { useEscapeTwice } from "./useEscapeTwice.ts"
import { choiceFields, type Recipient, useRecipient } from "./useRecipient.ts"
import { useSendMessage } from "./useSendMessage.ts"
import { useSessionDraft } from "./useSessionDraft.ts"
import { composerMessages } from "./messages.ts"
import "./composer.css"

interface ComposerControl {
  readonly isPaused: boolean
  /** Pauses the turn, or resumes it. */
  readonly onPause: () => void
  readonly onStop: () => void
}

interface Props {
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

const OpenComposer = ({ control: { isPaused, onPause, onStop }, isWorking, question, session }: Props) => {
  const messages = useMessages(composerMessages)
  const draft = useSessionDraft(session.id)
  const field = useOpeningFocus()
  useStoredDraft(draft)
  const recipient = useRecipient(session)
  const send = useSendMessage(session.id, draft)
  const isArmed = useEscapeTwice(isWorking ? onStop : undefined)
  // Only the work of the default agent is known here.
  const isBusy = isWorking && recipient.isDefault
  const hint = useHint(recipient, isBusy && isPaused)
  const keys = useKeysHint(recipient, isBusy)

  const submit = (isForced: boolean) => {
    if (draft.readiness() !== "ready" || send.isPending) return
    const { mode, model, ...fields } = choiceFields(recipient)
    // A turn in progress keeps its mode and its model.
    send.mutate(
      isForced && isBusy && recipient.takesInput
        ? { ...fields, when: "now" }
        : {
            ...fields,
            ...(mode === undefined ? {} : { mode }),
            ...(model === undefined ? {} : { model })
          }
    )
  }
  return (
    <DropArea
      draft={draft}
      hint={isArmed ? messages.escape : hint}
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
      <RefusalNote error={send.error} />
      <div className="composer-foot">
        <div className="composer-chips">
          <AttachButton draft={draft} />
          <SessionChips session={session} recipient={recipient} />
        </div>
        {isWorking && (
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
        )}
        {question !== undefined && <AnswerWithText key={question.input.id} draft={draft} {...question} />}
        <SendButton draft={draft} isBusy={send.isPending} label={isBusy ? messages.queue : messages.send} />
      </div>
    </DropArea>
  )
}

export const Composer = (props: Props) => {
  const messages = useMessages(composerMessages)
  const mayWork = useCanWork(props.session.projectId)
  if (props.session.state !== "active") return <p className="composer-closed">{messages.readOnly}</p>
  if (!mayWork) return <p className="composer-closed">{messages.viewer}</p>
  return <OpenComposer {...props} />
}
