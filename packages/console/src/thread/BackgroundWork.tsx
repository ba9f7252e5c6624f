/** Work of a run in the background: one line of it in the thread, from its start to its end, and what of it still runs. */
import type { RunBlock, WorkBlock } from "@corral/domain/run/RunBlock"
import { useCanWork } from "../api/ProjectsAndTargets.ts"
import { useFinish } from "../composer/QueuedMessages.tsx"
import { visibleLine } from "../markdown/visible.ts"
import { formatDuration } from "../text/Duration.ts"
import { useLanguage, useMessages } from "../text/Language.tsx"
import { ConfirmDialog } from "../ui/Dialogs.tsx"
import { Icon, type IconName } from "../ui/Icon.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { threadMessages } from "./messages.ts"
import type { RunPlace } from "./RunPlace.ts"
import { Clock } from "./ThreadState.tsx"
import { useStop } from "./TurnButtons.tsx"
import "./work.css"

const workIcons: Readonly<Record<WorkBlock["work"], IconName>> = {
  agent: "agent",
  command: "command",
  goal: "check",
  timer: "clock"
}

const marks: Readonly<Record<WorkBlock["state"], string>> = {
  running: "●",
  completed: "✓",
  failed: "✕",
  stopped: "■",
  unfinished: "⊘"
}

const tones: Readonly<Record<WorkBlock["state"], string>> = {
  running: "started",
  completed: "completed",
  failed: "failed",
  stopped: "cancelled",
  unfinished: "failed"
}

interface WorkLineProps {
  readonly block: WorkBlock
  /** Whether the run has ended: nothing of it still runs. */
  readonly isOver: boolean
}

/** Work in the background on one line, from its start to its end. */
export const WorkLine = ({
  block: { at, endedAt, state: workState, title, work },
  isOver
}: WorkLineProps) => {
  const messages = useMessages(threadMessages)
  const { language } = useLanguage()
  const state = workState === "running" && isOver ? "unfinished" : workState
  return (
    <p className="work-line">
      <Icon name={workIcons[work]} />
      <span className="action-what">
        <span className="action-verb">{messages.inBackground}</span> <bdi>{visibleLine(title, 400)}</bdi>
      </span>
      <span className={`tool-state tool-state-${tones[state]}`}>
        <span aria-hidden="true">{marks[state]} </span>
        <span className={state === "completed" ? "hidden" : ""}>{messages.workStates[state]}</span>{" "}
        {state === "running" && <Clock since={at} />}
        {endedAt !== undefined && (
          <span className="quiet">{formatDuration(Date.parse(endedAt) - Date.parse(at), language)}</span>
        )}
      </span>
    </p>
  )
}

/** Titles that are shown. */
const SHOWN = 8

/** Work that is outstanding, oldest first. */
export const outstandingWork = (blocks: ReadonlyArray<RunBlock>): ReadonlyArray<WorkBlock> =>
  blocks.filter((block): block is WorkBlock => block.kind === "work" && block.state === "running")

/** All of it can be stopped without a loss: nothing waits for its result. */
const isOnlyCommands = (work: ReadonlyArray<WorkBlock>): boolean =>
  work.every(({ work: kind }) => kind === "command")

interface BackgroundPanelProps {
  readonly work: ReadonlyArray<WorkBlock>
  readonly place: RunPlace
}

const Buttons = ({ place: { runId }, work }: BackgroundPanelProps) => {
  const messages = useMessages(threadMessages)
  const finish = useFinish()
  const stop = useStop()
  const isBusy = finish.isPending || stop.isPending
  return (
    <>
      <div className="background-buttons">
        {isOnlyCommands(work) ? (
          <button
            type="button"
            className="button small"
            title={messages.finishHint}
            disabled={isBusy}
            onClick={() => finish.mutate(runId)}
          >
            {messages.finish}
          </button>
        ) : (
          <ConfirmDialog
            trigger={messages.finishAsk}
            title={messages.finishTitle(work.length)}
            confirm={messages.finish}
            onConfirm={() => finish.mutateAsync(runId)}
          >
            {messages.finishText}
          </ConfirmDialog>
        )}
        <button
          type="button"
          className="button small"
          title={messages.stopHint}
          disabled={isBusy}
          onClick={() => stop.mutate([runId])}
        >
          {messages.stop}
        </button>
      </div>
      <RefusalNote error={finish.error ?? stop.error} />
    </>
  )
}

/** What runs next to the turn in progress. */
export const BackgroundNote = ({ work }: Pick<BackgroundPanelProps, "work">) => {
  const messages = useMessages(threadMessages)
  if (work.length === 0) return null
  const titles = work.slice(0, SHOWN).map(({ title }) => visibleLine(title, 60))
  return (
    <p className="background-note">
      {messages.background(work.length)}
      {" · "}
      <bdi>{titles.join(", ")}</bdi>
    </p>
  )
}

/**
 * What a run does in the background, with the way to finish it. While a turn is in progress it is one line; after the turn it says why the run
 * continues.
 *
 * Guarantees: finishing is one click where only commands run, such as a server; where an agent works, a dialog says what is lost.
 */
export const BackgroundPanel = ({ place, work }: BackgroundPanelProps) => {
  const messages = useMessages(threadMessages)
  const mayWork = useCanWork(place.projectId)
  return (
    <section className="background">
      <h3 className="background-head">
        <span className="live-mark" aria-hidden="true">
          ◐
        </span>
        {messages.background(work.length)}
      </h3>
      <ul>
        {work.slice(0, SHOWN).map(({ at, seq, title, work: kind }) => (
          <li key={seq}>
            <Icon name={workIcons[kind]} size={14} />
            <bdi className="background-title">{visibleLine(title, 200)}</bdi>
            <Clock since={at} />
          </li>
        ))}
        {work.length > SHOWN && <li className="quiet">{messages.moreWork(work.length - SHOWN)}</li>}
      </ul>
      {mayWork && <Buttons place={place} work={work} />}
    </section>
  )
}
