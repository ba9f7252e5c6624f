/** Why a turn failed or was stopped, what to do next, and the code for support in a fold. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { confinedHintOf, lastWordsOf } from "@corral/domain/run/ConfinedFailure"
import type { RunFailure } from "@corral/domain/run/Run"
import { runtimeRemedyOf } from "@corral/domain/run/RuntimeRemedy"
import { UserName } from "../approval/ApprovalOutcome.tsx"
import { visibleLine, visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { useErrorSentence } from "../ui/errorSentence.ts"
import { uiMessages } from "../ui/messages.ts"
import { Icon } from "../ui/Icon.tsx"
import { threadMessages } from "./messages.ts"
import "./thread.css"

const useAdvice = (error: RunFailure | undefined): string => {
  const { confinedAdvice, failureAdvice } = useMessages(threadMessages)
  const { remedies } = useMessages(uiMessages)
  const remedy = error && runtimeRemedyOf(error)
  if (remedy !== undefined) return remedies[remedy]
  const hint = error && confinedHintOf(error)
  if (hint !== undefined) return confinedAdvice[hint]
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
