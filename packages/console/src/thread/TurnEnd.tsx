/** End of a turn: why it failed or who stopped it, and the footer, with changed files, duration, tokens, cost, and the use of its budget. */
import { decodeEventFields } from "@corral/client/run/EventFields"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { confinedHintOf, lastWordsOf } from "@corral/domain/run/ConfinementText"
import { EventSequence } from "@corral/domain/run/EventSequence"
import type { RunFailure } from "@corral/domain/run/Run"
import type { DiffBlock } from "@corral/domain/run/RunBlock"
import { runtimeRemedyOf } from "@corral/domain/run/RuntimeRemedy"
import { RunView } from "@corral/domain/run/RunView"
import type { DeliveryContext } from "@corral/domain/session/Message"
import { useQuery } from "@tanstack/react-query"
import { lazy, Suspense, useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { useCanDecide } from "../api/ProjectsAndTargets.ts"
import { UserName } from "../approval/ApprovalOutcome.tsx"
import { markdownMessages } from "../markdown/messages.ts"
import { visibleLine, visibleText } from "../markdown/visible.ts"
import { unknownChangesMessages } from "../run/messages.ts"
import { formatDuration } from "../text/Duration.ts"
import { useLanguage, useMessages } from "../text/Language.tsx"
import { CopyIcon } from "../ui/Copy.tsx"
import { useErrorSentence } from "../ui/errorSentence.ts"
import { Icon } from "../ui/Icon.tsx"
import { uiMessages } from "../ui/messages.ts"
import { Time } from "../ui/Time.tsx"
import { RunUsage } from "../usage/RunUsage.tsx"
import { countsOf, type WorkCounts } from "./ActionKind.ts"
import { threadMessages } from "./messages.ts"
import { WorkFold } from "./WorkPart.ts"
import "./thread.css"

const useAdvice = (error: RunFailure | undefined): string => {
  const { confinedAdvice, failureAdvice } = useMessages(threadMessages)
  const { remedies } = useMessages(uiMessages)
  const remedy = error && runtimeRemedyOf(error)
  if (remedy !== undefined) return remedies[remedy]
  const hint = error && confinedHintOf(error)
  if (hint !== undefined) return confinedAdvice[hint]
  if (error?.details?.["reason"] === "cost_unknown") return failureAdvice.cost_unknown
  switch (error?.code) {
    case "budget_exceeded":
    case "run_timeout":
    case "permission_denied":
    case "approval_rejected":
      return failureAdvice[error.code]
    default:
      return failureAdvice.other
  }
}

/** Lines of the program. All are in the details. */
const SHOWN_LINES = 12

interface FailureProps {
  readonly error: RunFailure | undefined
  /** Sends the message again. Absent if the reader can't. */
  readonly onAgain?: (() => void) | undefined
  readonly onLog: () => void
}

/** Why a turn failed or was stopped, what to do next, and the code for support in a fold. */
export const TurnFailure = ({ error, onAgain, onLog }: FailureProps) => {
  const messages = useMessages(threadMessages)
  const textOf = useErrorSentence()
  const advice = useAdvice(error)
  const words = error && lastWordsOf(error)
  // Another attempt would fail for the same reason.
  const isConfined = error !== undefined && confinedHintOf(error) !== undefined
  const again = onAgain !== undefined && (
    <button type="button" className="button" onClick={onAgain}>
      <Icon name="refresh" />
      {messages.tryAgain}
    </button>
  )
  return (
    <section className="turn-failure" aria-label={messages.states.failed}>
      <p className="turn-failure-text">
        <strong>
          <span aria-hidden="true">✕ </span>
          {error === undefined ? messages.failed : visibleText(textOf(error).slice(0, 4_000))}
        </strong>
      </p>
      {words !== undefined && (
        <pre className="code" role="region" aria-label={messages.lastLines} tabIndex={0}>
          {visibleText(words.split("\n").slice(-SHOWN_LINES).join("\n"))}
        </pre>
      )}
      <p>{advice}</p>
      <div className="turn-next">
        {!isConfined && again}
        <button type="button" className="button" onClick={onLog}>
          {messages.showLog}
        </button>
        {isConfined && again}
      </div>
      {error !== undefined && (
        <details>
          <summary>{messages.details}</summary>
          <code>{visibleLine(error.code, 80)}</code>
          {error.details !== undefined && (
            <pre className="code">{visibleText(JSON.stringify(error.details, null, 2).slice(0, 4_000))}</pre>
          )}
        </details>
      )}
    </section>
  )
}

interface StopProps {
  readonly by?: string | undefined
  readonly reason?: string | undefined
  readonly projectId: HubRun["projectId"] | undefined
}

export const TurnStopped = ({ by, projectId, reason }: StopProps) => {
  const messages = useMessages(threadMessages)
  return (
    <p className="turn-stopped">
      <span aria-hidden="true">■ </span>
      {messages.stopped}
      {by !== undefined && (
        <>
          {" "}
          (<UserName by={by} projectId={projectId} />)
        </>
      )}
      {reason !== undefined && ` ${visibleLine(reason, 1_000)}`}
    </p>
  )
}

interface Props {
  readonly run: HubRun | undefined
  readonly diff: DiffBlock | undefined
  readonly context?: DeliveryContext | undefined
  readonly onChanges: () => void
  /** The answer, which can be copied. */
  readonly answer?: string | undefined
}

export const durationOf = ({ createdAt, endedAt }: HubRun): number | undefined =>
  endedAt === undefined ? undefined : Date.parse(endedAt) - Date.parse(createdAt)

const UndoDialog = lazy(async () => ({ default: (await import("../review/DecideDialogs.tsx")).UndoDialog }))

/** What waits of the changes of the turn, and a button that undoes what it wrote, or the newest decision. */
const TurnChanges = ({ onChanges, run }: { readonly run: HubRun; readonly onChanges: () => void }) => {
  const messages = useMessages(threadMessages)
  const mayDecide = useCanDecide(run.projectId)
  const [isOpen, setOpen] = useState(false)
  const { changes } = run
  // A later turn of the set has its newest state.
  if (changes === undefined || changes.runId !== run.id || changes.state === "empty") return null
  const isDirect = changes.direct === true
  if (isDirect && changes.fileCount === 0) return null
  return (
    <>
      {changes.state === "open" && (
        <button type="button" className="foot-button foot-waiting" onClick={onChanges}>
          {messages.filesToDecide(changes.fileCount)}
        </button>
      )}
      {changes.state === "decided" && mayDecide && (
        <button type="button" className="foot-button" onClick={() => setOpen(true)}>
          {isDirect ? messages.undoTurn : messages.undoDecision}
        </button>
      )}
      {isOpen && (
        <Suspense fallback={null}>
          <UndoDialog run={run} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  )
}

const marks = { completed: "✓", failed: "✕", cancelled: "■" } as const

/** Footer of an ended turn: how it ended, changed files, duration, tokens, cost, the use of its budget, and what its agent knew of the conversation. */
export const TurnFooter = ({ answer, context, diff, onChanges, run }: Props) => {
  const messages = useMessages(threadMessages)
  const { copyAnswer } = useMessages(markdownMessages)
  const unknown = useMessages(unknownChangesMessages)
  const { language } = useLanguage()
  const state = run?.state
  const duration = run === undefined ? undefined : durationOf(run)
  return (
    <p className="turn-foot">
      {(state === "completed" || state === "failed" || state === "cancelled") && (
        <span className={`turn-state turn-state-${state}`}>
          <span aria-hidden="true">{marks[state]} </span>
          {messages.states[state]}
        </span>
      )}
      {run?.changesUnknown !== undefined && (
        <span className="turn-unknown" title={unknown.reasons[run.changesUnknown.reason]}>
          {unknown.title}
        </span>
      )}
      {diff !== undefined && diff.files > 0 && (
        <button type="button" className="foot-button" title={messages.showChanges} onClick={onChanges}>
          {messages.files(diff.files)}
          {diff.additions > 0 && (
            <>
              {" "}
              <ins className="count-added">+{diff.additions}</ins>
            </>
          )}
          {diff.deletions > 0 && (
            <>
              {" "}
              <del className="count-removed">−{diff.deletions}</del>
            </>
          )}
        </button>
      )}
      {run !== undefined && <TurnChanges run={run} onChanges={onChanges} />}
      {duration !== undefined && <span>{formatDuration(duration, language)}</span>}
      <RunUsage usage={run?.usage} budget={run?.budget} />
      {context === "transcript" && <span title={messages.transcriptHint}>{messages.transcript}</span>}
      {run?.endedAt !== undefined && <Time at={run.endedAt} />}
      {answer !== undefined && <CopyIcon label={copyAnswer} text={answer} />}
    </p>
  )
}

/** Events at the end of the log that are read. */
const EVENTS = 200

export interface TurnSummary {
  readonly diff: DiffBlock | undefined
  /** Absent for a run with more events. */
  readonly counts: WorkCounts | undefined
}

const readSummary = async (id: HubRun["id"], lastSeq: number, signal: AbortSignal): Promise<TurnSummary> => {
  const after = Math.max(0, lastSeq - EVENTS)
  const { items } = await hubApi.runs.events({ params: { id }, query: { after, limit: EVENTS }, signal })
  const [sequence, view] = [new EventSequence(decodeEventFields, after), new RunView()]
  for (const event of items) {
    const next = sequence.nextOf(event)
    if (next !== undefined) view.apply(next)
  }
  return {
    diff: view.blocks.findLast((block) => block.kind === "diff"),
    counts: after === 0 ? countsOf(new WorkFold().update(view.blocks)) : undefined
  }
}

/**
 * Summary of an ended run, from the end of its log: the changed files, and for a short run the number of its actions. `run` is undefined until it has
 * ended and its turn was seen.
 *
 * Does not: read the whole log of a long run. A run whose log is no longer kept has no summary.
 */
export const useTurnSummary = (run: HubRun | undefined): TurnSummary | undefined =>
  useQuery({
    queryKey: ["run-summaries", run?.id],
    queryFn: ({ signal }) =>
      run === undefined ? Promise.reject(new Error("no run")) : readSummary(run.id, run.lastSeq, signal),
    enabled: run !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false
  }).data
