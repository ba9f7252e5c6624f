/**
 * An open question, plan or link above the composer.
 *
 * Guarantees: takes no focus, and reacts to no key in its first 500 ms. Only Enter, a click or a button answers.
 */
import type { HubInput } from "@corral/domain/hub-api/HubRun"
import { type KeyboardEvent, type RefObject, useRef } from "react"
import { useCanDecide, useCanWork } from "../api/ProjectsAndTargets.ts"
import { Requester } from "../approval/Requester.tsx"
import { visibleLine } from "../markdown/visible.ts"
import { useLanguage, useMessages } from "../text/Language.tsx"
import { useDevice } from "../api/Device.ts"
import { Time } from "../ui/Time.tsx"
import { hasChoice, optionIds, withOption, withoutChoices } from "./FormDraft.ts"
import { AnswerNote } from "./AnswerNote.tsx"
import { LinkForm } from "./LinkForm.tsx"
import { PlanForm } from "./PlanForm.tsx"
import { QuestionForm } from "./QuestionForm.tsx"
import { type AnswerMutation, useAnswer } from "./useAnswer.ts"
import { useFormDraft } from "./useFormDraft.ts"
import { useCardKeys } from "./useCardKeys.ts"
import { usePlanModes } from "./usePlanModes.ts"
import { inputMessages } from "./messages.ts"
import "../approval/approval.css"
import "./input.css"

/** Time in which a new card reacts to no key. */
const DEAF_MS = 500

interface Props {
  readonly input: HubInput
  readonly card: RefObject<HTMLElement | null>
  /** Number of open questions. */
  readonly count: number
  readonly onAnswered: (id: HubInput["id"]) => void
}

/** Whether the only question repeats the title. */
const isTitleAsked = ({ questions = [], title }: HubInput): boolean =>
  questions.length === 1 && questions[0]?.text.startsWith(title.replace(/…$/, "")) === true

/** The question that digits choose in: the one with the focus, else the first with options. */
const digitQuestion = ({ questions = [] }: HubInput, card: Element | null) => {
  const focused = card?.querySelector("[data-question]:focus-within")?.getAttribute("data-question")
  const withOptions = questions.filter((question) => optionIds(question).length > 0)
  return withOptions.find(({ id }) => id === focused) ?? withOptions[0]
}

const useQuestionCard = ({
  answer,
  card,
  input
}: Pick<Props, "card" | "input"> & { readonly answer: AnswerMutation }) => {
  const { draft, forget, setDraft } = useFormDraft(input)
  const form = useRef<HTMLFormElement>(null)
  const choose = (digit: number): boolean => {
    const question = digitQuestion(input, card.current)
    const option = question === undefined ? undefined : optionIds(question)[digit - 1]
    if (question === undefined || option === undefined) return false
    setDraft(withOption(draft, question, option))
    card.current
      ?.querySelector<HTMLElement>(
        `[data-question="${CSS.escape(question.id)}"] [data-option="${CSS.escape(option)}"]`
      )
      ?.focus()
    return true
  }
  const send = () => {
    // Without a choice the card is not selected: Enter on it does nothing.
    const isInField = card.current?.querySelector(":is(input, textarea):focus") !== null
    if (!answer.isPending && (hasChoice(draft) || isInField)) form.current?.requestSubmit()
  }
  const clear = () => setDraft(withoutChoices(draft))
  return { draft, forget, setDraft, form, actions: { choose, send, clear } }
}

const Body = ({
  answer,
  input,
  question: { draft, form, setDraft }
}: {
  readonly input: HubInput
  readonly answer: AnswerMutation
  readonly question: ReturnType<typeof useQuestionCard>
}) => {
  const messages = useMessages(inputMessages)
  const mayAnswer = useCanWork(input.projectId)
  const mayDecide = useCanDecide(input.projectId)
  const { isLoading, modes } = usePlanModes(input)
  if (input.kind === "plan") {
    if (isLoading) return null
    return (
      <>
        {!mayDecide && <p className="quiet">{messages.notYourPlan}</p>}
        <fieldset className="input-body" disabled={!mayDecide}>
          <PlanForm {...{ answer, input, modes }} />
        </fieldset>
      </>
    )
  }
  return (
    <>
      {!mayAnswer && <p className="quiet">{messages.notYours}</p>}
      <fieldset className="input-body" disabled={!mayAnswer}>
        {input.kind === "link" ? (
          <LinkForm {...{ answer, input }} />
        ) : (
          <QuestionForm
            {...{ answer, draft, form, input }}
            onChange={setDraft}
            digitsIn={digitQuestion(input, null)?.id}
          />
        )}
      </fieldset>
    </>
  )
}

export const InputCard = ({ card, count, input, onAnswered }: Props) => {
  const messages = useMessages(inputMessages)
  const { language } = useLanguage()
  const deafUntil = useRef(performance.now() + DEAF_MS)
  const answer = useAnswer(input, { onSend: () => onAnswered(input.id) })
  const question = useQuestionCard({ answer, card, input })
  const onKeyDown = useCardKeys(card, deafUntil, question.actions)
  const device = useDevice(input.targetId)
  const title = visibleLine(input.title)
  const onKeyDownCapture = (event: KeyboardEvent) => {
    if (event.key === "Tab" || performance.now() >= deafUntil.current) return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <section
      ref={card}
      className={`approval approval-pending dock-approval input-card input-${input.kind}`}
      tabIndex={-1}
      aria-label={`${messages.kinds[input.kind]}: ${title}`}
      onKeyDownCapture={onKeyDownCapture}
      // Keys after a click are meant for the card.
      onPointerDownCapture={() => (deafUntil.current = 0)}
      onKeyDown={onKeyDown}
    >
      <h2>
        <span aria-hidden="true">◆ </span>
        <span className="input-kind">{messages.kinds[input.kind]}</span>
        {!isTitleAsked(input) && <bdi>{title}</bdi>}
        <span className="dock-meta">
          {(input.questions ?? []).length > 1 && <span>{messages.parts(input.questions?.length ?? 0)}</span>}
          {count > 1 && <span>{messages.position(1, count)}</span>}
          {input.expiresAt === undefined && <span title={messages.runEnds}>{messages.waitsUpTo}</span>}
          {input.expiresAt !== undefined && (
            <span title={messages.endsHint} lang={language}>
              {messages.endsAt} <Time at={input.expiresAt} />
            </span>
          )}
        </span>
      </h2>
      <Requester approval={input} />
      {device?.state === "offline" && (
        <p className="target-note" role="status">
          {messages.offline(visibleLine(device.name, 100))}
        </p>
      )}
      <Body {...{ answer, input, question }} />
      {answer.isPending && <p role="status">{messages.sending}</p>}
      <AnswerNote error={answer.error} />
    </section>
  )
}
