/**
 * One turn of a session: the messages that its run received, its work, and its answer.
 *
 * A turn in progress shows its work as it happens. An ended turn is its answer and one folded line; a failure stays open. The work of a turn that
 * ends while the reader is elsewhere stays open too, so that nothing moves under the reader.
 */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { Message } from "@corral/domain/session/Message"
import type { Session } from "@corral/domain/session/Session"
import { messageOfPrompt } from "@corral/domain/session/TranscribedPrompt"
import { memo, useLayoutEffect, useRef, useState } from "react"
import { visibleLine } from "../markdown/visible.ts"
import { FinishedText } from "../run/MessageView.tsx"
import { useLanguage, useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { formatDuration } from "../text/Duration.ts"
import { useFollowState } from "./EndFollower.ts"
import { FollowedWork, isEnded } from "./FollowedWork.tsx"
import { PersonMessage } from "./PersonMessage.tsx"
import { useRunPlace } from "./RunPlace.ts"
import {
  durationOf,
  TurnFailure,
  TurnFooter,
  TurnStopped,
  type TurnSummary,
  useTurnSummary
} from "./TurnEnd.tsx"
import { agentOf, type TurnEntry } from "./Turns.ts"
import { threadMessages } from "./messages.ts"
import { useSeen } from "./useSeen.ts"
import "./thread.css"

export type TurnPanel = "changes" | "log"

interface Props {
  readonly turn: TurnEntry
  readonly session: Session
  /** Undefined until the runs of the session are loaded. */
  readonly run: HubRun | undefined
  /** Whether an earlier turn says why runs are not confined. */
  readonly isConfinementKnown: boolean
  /** Whether a search led to it. */
  readonly isFound?: boolean
  /** Whether its work is shown at first. */
  readonly isUnfolded?: boolean
  /** Whether it is in the card of its group, which names its agent and has the message. */
  readonly isOfGroup?: boolean
  readonly onPanel: (runId: HubRun["id"], panel: TurnPanel) => void
  /** Sends the prompt again. Absent if the reader can't. */
  readonly onAgain: ((prompt: Message) => void) | undefined
}

interface FoldProps {
  readonly run: HubRun | undefined
  readonly summary: TurnSummary | undefined
  readonly isOpen: boolean
  readonly onToggle: () => void
}

const FoldLine = ({ isOpen, onToggle, run, summary }: FoldProps) => {
  const messages = useMessages(threadMessages)
  const { language } = useLanguage()
  const duration = run === undefined ? undefined : durationOf(run)
  const counts = summary?.counts === undefined ? [] : messages.counts(summary.counts)
  return (
    <button type="button" className="fold-line turn-fold" aria-expanded={isOpen} onClick={onToggle}>
      <Icon name={isOpen ? "fold" : "unfold"} />
      <span>
        {[
          duration === undefined ? messages.work : messages.worked(formatDuration(duration, language)),
          ...counts
        ].join(" · ")}
      </span>
    </button>
  )
}

interface AnswerProps {
  readonly answer: Message
  readonly session: Session
  /** Whether the work is shown, which says who stopped it. */
  readonly isOpen: boolean
  readonly onAgain: (() => void) | undefined
  readonly onLog: () => void
}

const Answer = ({ answer, isOpen, onAgain, onLog, session }: AnswerProps) => {
  if (answer.outcome === "failed") return <TurnFailure error={answer.error} onAgain={onAgain} onLog={onLog} />
  if (answer.outcome === "cancelled") return isOpen ? null : <TurnStopped projectId={session.projectId} />
  return (
    <div className="answer">
      <FinishedText text={answer.text} />
    </div>
  )
}

/** Whether the work is shown. It folds when the turn ends, unless the reader is elsewhere. */
const useUnfolded = (answer: Message | undefined, isUnfolded: boolean) => {
  const { end } = useFollowState()
  const isInProgress = answer === undefined
  const [isOpen, setOpen] = useState(isInProgress || isUnfolded)
  const wasInProgress = useRef(isInProgress)
  useLayoutEffect(() => {
    if (wasInProgress.current && answer?.outcome === "completed" && end.state().isFollowing) setOpen(false)
    wasInProgress.current = isInProgress
  }, [answer, end, isInProgress])
  return [isOpen || isInProgress, () => setOpen(!isOpen)] as const
}

export const Turn = memo((props: Props) => {
  const { isConfinementKnown, isFound, isOfGroup = false, isUnfolded = false } = props
  const { onAgain, onPanel, run, session, turn } = props
  const messages = useMessages(threadMessages)
  const { answer, prompts, runId } = turn
  const element = useRef<HTMLElement>(null)
  const isSeen = useSeen(element)
  // A turn that the browser begins to skip loses its height for a frame, and the reader the place in it.
  const [isSkippable] = useState(answer !== undefined)
  const [isOpen, toggle] = useUnfolded(answer, isUnfolded)
  const summary = useTurnSummary(isSeen && isEnded(run?.state) ? run : undefined)
  const agentId = agentOf(turn)
  const agent = session.agents.find(({ id }) => id === agentId)
  const name = visibleLine(agent?.label ?? messages.agent, 60)
  const place = useRunPlace({
    runId,
    agent: name,
    title: visibleLine(messageOfPrompt(prompts[0]?.text ?? run?.input.text ?? ""), 90),
    projectId: session.projectId,
    targetId: run?.targetId ?? agent?.targetId ?? ("" as never),
    prompts,
    isConfinementKnown
  })
  const [first] = prompts
  // Further input is part of the work while the work is shown.
  const shown = prompts.filter(
    ({ groupId, when }) => !(isOpen && when === "now") && !(isOfGroup && groupId !== undefined)
  )
  return (
    <section
      ref={element}
      className={`turn ${answer === undefined ? "" : "turn-settled"} ${isSkippable ? "turn-skippable" : ""} ${isFound === true ? "entry-found" : ""}`}
      data-run={runId}
    >
      {shown.map((prompt) => (
        <PersonMessage
          key={prompt.id}
          message={prompt}
          projectId={session.projectId}
          isFound={isFound === true}
        />
      ))}
      <h2 className={session.agents.length > 1 && !isOfGroup ? "answer-head" : "hidden"}>
        <Icon name="agent" />
        <bdi>{name}</bdi>
      </h2>
      {answer !== undefined && <FoldLine {...{ isOpen, run, summary }} onToggle={toggle} />}
      {isOpen && <FollowedWork place={place} run={run} answer={answer?.text} />}
      {answer !== undefined && (
        <>
          <Answer
            {...{ answer, isOpen, session }}
            onAgain={first === undefined || onAgain === undefined ? undefined : () => onAgain(first)}
            onLog={() => onPanel(runId, "log")}
          />
          <TurnFooter
            run={run}
            diff={summary?.diff}
            context={first?.delivery?.context}
            answer={answer.outcome === "completed" ? answer.text : undefined}
            onChanges={() => onPanel(runId, "changes")}
          />
        </>
      )}
    </section>
  )
})
