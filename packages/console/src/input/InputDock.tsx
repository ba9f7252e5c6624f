/**
 * Open questions, plans and links above the composer, one at a time, oldest first, and a note where the shown one was answered elsewhere or has no
 * answer. Texts for a question that ends go to `UnsentText`. After an answer here, the focus goes to the next one, or to the text field below.
 *
 * Guarantees: a card takes no focus, and reacts to no key in its first 500 ms. Only Enter, a click or a button answers. Only a click of the person
 * opens a link.
 */
import { endsWithPlan } from "@corral/domain/approval/RunMode"
import type { HubInput } from "@corral/domain/hub-api/HubRun"
import { findAgent } from "@corral/domain/offer/Offer"
import type { RunMode } from "@corral/domain/run/Run"
import { useQuery } from "@tanstack/react-query"
import { type KeyboardEvent, type RefObject, useContext, useEffect, useRef, useState } from "react"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { hubApi } from "../api/Hub.ts"
import { useCanDecide, useCanWork, useDevice, useTargets } from "../api/ProjectsAndTargets.ts"
import { Requester } from "../approval/RequestView.tsx"
import { visibleLine } from "../markdown/visible.ts"
import { startModes } from "../start/Offer.ts"
import { useLanguage, useMessages } from "../text/Language.tsx"
import { CopyButton } from "../ui/Copy.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Time } from "../ui/Time.tsx"
import { UnsentText } from "../ui/UnsentText.tsx"
import { type AnswerMutation, AnswerNote, useAnswer } from "./Answer.tsx"
import { useCardKeys } from "./CardKeys.ts"
import {
  hasChoice,
  optionIds,
  takeUnsentTexts,
  useFormDraft,
  withOption,
  withoutChoices
} from "./FormDraft.ts"
import { InputOutcome } from "./InputOutcome.tsx"
import { PlanForm } from "./Plan.tsx"
import { QuestionForm, SkipButton } from "./QuestionForm.tsx"
import { inputMessages } from "./messages.ts"
import "../approval/approval.css"
import "./input.css"

interface LinkFormProps {
  readonly input: HubInput
  readonly answer: AnswerMutation
}

/** The address, if it is a web page. */
const webPageOf = (address: string): URL | undefined => {
  const url = URL.canParse(address) ? new URL(address) : undefined
  return url?.protocol === "https:" || url?.protocol === "http:" ? url : undefined
}

/** An address that the agent asks the person to open. Only a click of the person opens it. */
const LinkForm = ({ answer, input: { url = "" } }: LinkFormProps) => {
  const messages = useMessages(inputMessages)
  const page = webPageOf(url)
  const isBusy = answer.isPending || answer.isSuccess
  return (
    <div className="input-form">
      <div className="dock-request link-request">
        <p>{page === undefined ? messages.unsafeLink : messages.linkHint}</p>
        {page !== undefined && <p className="link-host">{messages.host(page.host)}</p>}
        <code className="link-address">{visibleLine(url, 4_096)}</code>
        <div className="link-actions">
          {page !== undefined && (
            <a className="button" href={page.href} target="_blank" rel="noreferrer noopener">
              <Icon name="open" />
              {messages.open}
            </a>
          )}
          <CopyButton text={url} label={messages.copy} />
        </div>
      </div>
      <div className="decision-buttons input-buttons">
        <button
          type="button"
          className="button primary"
          disabled={isBusy}
          onClick={() => answer.mutate({ answers: {} })}
        >
          {messages.linkDone}
        </button>
        <SkipButton answer={answer} />
      </div>
    </div>
  )
}

interface PlanModes {
  readonly isLoading: boolean
  /** The usual mode first. Undefined if the run itself carries the plan out. */
  readonly modes: ReadonlyArray<RunMode> | undefined
}

/** Modes in which an approved plan can be carried out. Only a run that may not act itself needs one: another run follows it. */
const usePlanModes = ({ agentId, kind, projectId, runId, targetId, workspace }: HubInput): PlanModes => {
  const run = useQuery({
    queryKey: ["runs", runId],
    queryFn: ({ signal }) => hubApi.runs.get({ params: { id: runId }, signal }),
    enabled: kind === "plan"
  })
  const target = useTargets(projectId).find(({ id }) => id === targetId)
  if (kind !== "plan") return { isLoading: false, modes: undefined }
  if (run.data === undefined) return { isLoading: run.isLoading, modes: undefined }
  if (!endsWithPlan(run.data.mode)) return { isLoading: false, modes: undefined }
  const offered = startModes(
    target?.workspaces.find(({ id }) => id === workspace),
    findAgent(target?.agents, agentId)
  ).filter((mode) => !endsWithPlan(mode))
  return { isLoading: false, modes: offered.toSorted((a, b) => Number(b === "ask") - Number(a === "ask")) }
}

/** Time in which a new card reacts to no key. */
const DEAF_MS = 500

interface InputCardProps {
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
}: Pick<InputCardProps, "card" | "input"> & { readonly answer: AnswerMutation }) => {
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

/** One open question, plan or link. */
const InputCard = ({ card, count, input, onAnswered }: InputCardProps) => {
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

interface AnsweredNoteProps {
  readonly input: HubInput
  readonly onDismiss: () => void
}

/** Note that a shown question was answered elsewhere, or has no answer. */
const AnsweredNote = ({ input: { id, kind, projectId, title }, onDismiss }: AnsweredNoteProps) => {
  const messages = useMessages(inputMessages)
  const { user } = useCurrentUser()
  const { data } = useQuery({
    queryKey: ["inputs", "one", id],
    queryFn: ({ signal }) => hubApi.inputs.get({ params: { id }, signal })
  })
  // The person knows an own answer, and the thread shows why a question was withdrawn.
  const isShown =
    data !== undefined &&
    data.state !== "pending" &&
    data.state !== "cancelled" &&
    data.state !== "withdrawn" &&
    data.answeredBy !== user.id
  return (
    <div className={isShown ? "decided-note" : "hidden"} role="status">
      {isShown && (
        <>
          <span>
            {messages.answeredElsewhere(visibleLine(title, 80))}{" "}
            <InputOutcome kind={kind} resolution={data} projectId={projectId} />
          </span>
          <button type="button" className="icon-button" aria-label={messages.dismiss} onClick={onDismiss}>
            <Icon name="close" />
          </button>
        </>
      )}
    </div>
  )
}

interface InputDockProps {
  readonly inputs: ReadonlyArray<HubInput>
  /** Whether an approval is shown instead. What was chosen and written stays. */
  readonly isHidden: boolean
}

export const InputDock = ({ inputs, isHidden }: InputDockProps) => {
  const dock = useRef<HTMLDivElement>(null)
  const card = useRef<HTMLElement>(null)
  const answeredHere = useRef(new Set<HubInput["id"]>())
  const before = useRef<HubInput>(undefined)
  const [left, setLeft] = useState<HubInput>()
  const [current] = inputs
  const keep = useContext(UnsentText)
  useEffect(() => {
    const previous = before.current
    before.current = current
    if (previous === undefined || previous.id === current?.id) return
    setLeft(previous)
    if (!answeredHere.current.has(previous.id)) {
      const text = takeUnsentTexts(previous.id)
      return text === "" ? undefined : keep?.(text)
    }
    // The button that was pressed has left with its card.
    const next = current === undefined ? dock.current?.parentElement?.querySelector("textarea") : card.current
    next?.focus()
  }, [current, keep])
  return (
    <div ref={dock} className="approval-dock" hidden={isHidden}>
      {left !== undefined && <AnsweredNote key={left.id} input={left} onDismiss={() => setLeft(undefined)} />}
      {current !== undefined && (
        <InputCard
          key={current.id}
          input={current}
          card={card}
          count={inputs.length}
          onAnswered={(id) => answeredHere.current.add(id)}
        />
      )}
    </div>
  )
}
