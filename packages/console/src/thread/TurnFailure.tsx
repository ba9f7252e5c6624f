/** Why a turn failed or was stopped, what to do next, and the code for support in a fold. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { RunFailure } from "@corral/domain/run/Run"
import { UserName } from "../approval/UserName.tsx"
import { visibleLine, visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { threadMessages } from "./messages.ts"
import "./thread.css"

type Advice = keyof (typeof threadMessages)["en"]["failureAdvice"]

/** Advice for the reasons that a user can act on. Others of `runtime_unavailable` may pass by themselves. */
const adviceOfReason: Readonly<Record<string, Advice>> = {
  edge_restarted: "interrupted",
  command_missing: "missing",
  not_signed_in: "signedOut",
  bad_credentials: "signedOut"
}

const adviceOf = ({ code, details }: RunFailure): Advice => {
  const reason = details?.["reason"]
  const found = typeof reason === "string" ? adviceOfReason[reason] : undefined
  if (found !== undefined) return found
  switch (code) {
    case "run_timeout":
    case "permission_denied":
    case "approval_rejected":
      return code
    default:
      return "other"
  }
}

interface FailureProps {
  readonly error: RunFailure | undefined
  /** Sends the message again. Absent if the reader can't. */
  readonly onAgain?: (() => void) | undefined
  readonly onLog: () => void
}

export const TurnFailure = ({ error, onAgain, onLog }: FailureProps) => {
  const messages = useMessages(threadMessages)
  return (
    <section className="turn-failure" aria-label={messages.states.failed}>
      <p>
        <strong>
          <span aria-hidden="true">✕ </span>
          {error === undefined ? messages.failed : visibleText(error.message.slice(0, 4_000))}
        </strong>
      </p>
      <p>{messages.failureAdvice[error === undefined ? "other" : adviceOf(error)]}</p>
      <div className="turn-next">
        {onAgain !== undefined && (
          <button type="button" className="button small" onClick={onAgain}>
            {messages.tryAgain}
          </button>
        )}
        <button type="button" className="button small" onClick={onLog}>
          {messages.showLog}
        </button>
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
