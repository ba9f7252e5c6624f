/** Footer of an ended turn: how it ended, changed files, duration, tokens, cost, the use of its budget, and what its agent knew of the conversation. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { DiffBlock } from "@corral/domain/run/RunBlock"
import type { DeliveryContext } from "@corral/domain/session/Message"
import { Suspense, lazy, useState } from "react"
import { useCanDecide } from "../api/ProjectsAndTargets.ts"
import { limitTexts } from "../composer/limitTexts.ts"
import { markdownMessages } from "../markdown/messages.ts"
import { useLanguage, useMessages } from "../text/Language.tsx"
import { CopyIcon } from "../ui/Copy.tsx"
import { Time } from "../ui/Time.tsx"
import { formatDuration } from "../text/Duration.ts"
import { unknownChangesMessages } from "../run/unknownChanges.ts"
import { threadMessages } from "./messages.ts"
import "./thread.css"

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

/** `12,345` up to ten thousand, then `12k`. */
const short = (n: number): string =>
  n < 10_000 ? n.toLocaleString("en") : `${Math.round(n / 1_000).toLocaleString("en")}k`

const Usage = ({ usage }: { readonly usage: NonNullable<HubRun["usage"]> }) => {
  const messages = useMessages(threadMessages)
  const tokens = (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)
  const cost = usage.costUsd
  return (
    <>
      {tokens > 0 && <span>{messages.tokens(short(tokens))}</span>}
      {cost !== undefined && <span>${cost.toFixed(cost < 1 ? 4 : 2)}</span>}
    </>
  )
}

const UndoDialog = lazy(async () => ({ default: (await import("../review/UndoDialog.tsx")).UndoDialog }))

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
      {run?.usage !== undefined && <Usage usage={run.usage} />}
      {run?.budget !== undefined &&
        limitTexts({ budget: run.budget }, language, run.usage).map((text) => <span key={text}>{text}</span>)}
      {context === "transcript" && <span title={messages.transcriptHint}>{messages.transcript}</span>}
      {run?.endedAt !== undefined && <Time at={run.endedAt} />}
      {answer !== undefined && <CopyIcon label={copyAnswer} text={answer} />}
    </p>
  )
}
