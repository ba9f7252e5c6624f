/** Error of the Hub: its message, advice and the request id. */
import { CorralError } from "@corral/client/http/CorralError"
import { runtimeRemedyOf } from "@corral/domain/run/RuntimeRemedy"
import { useMessages } from "../text/Language.tsx"
import { useErrorSentence } from "./errorSentence.ts"
import { uiMessages } from "./messages.ts"

type Messages = Pick<(typeof uiMessages)["en"], "advice" | "pauseAdvice" | "remedies">

/** What a user can do about a refused request: by the reason of an unavailable runtime or of a refused pause, otherwise by the code. */
export const refusalAdvice = (
  { advice, pauseAdvice, remedies }: Messages,
  refusal: Pick<CorralError, "code" | "details">
): string | undefined => {
  const remedy = runtimeRemedyOf(refusal)
  if (remedy !== undefined) return remedies[remedy]
  const { code, details } = refusal
  const pauses = new Map(Object.entries(pauseAdvice))
  return (code === "conflict" ? pauses.get(String(details["reason"])) : undefined) ?? advice[code]
}

interface Issue {
  readonly path: string
  readonly message: string
}

const issuesOf = ({ details }: CorralError): ReadonlyArray<Issue> =>
  Array.isArray(details["issues"]) ? details["issues"] : []

interface Props {
  readonly error: Error | null | undefined
  readonly again?: () => void
}

export const RefusalNote = ({ again, error }: Props) => {
  const messages = useMessages(uiMessages)
  const textOf = useErrorSentence()
  if (error === null || error === undefined) return null
  const refusal =
    error instanceof CorralError ? error : new CorralError("internal", { message: error.message })
  const advice = refusalAdvice(messages, refusal)
  return (
    <div className="refusal" role="alert">
      <p>
        <strong>{textOf(refusal)}</strong> {advice}
      </p>
      {issuesOf(refusal).map(({ message, path }) => (
        <p key={path}>
          <code>{path}</code> {message}
        </p>
      ))}
      {refusal.details["reason"] === "sign_in_old" && (
        <p>
          <a href={`/client/auth/login?${new URLSearchParams({ fresh: "1", returnTo: location.pathname })}`}>
            {messages.signInAgain}
          </a>
        </p>
      )}
      {refusal.requestId !== undefined && (
        <p className="quiet">
          {messages.requestId} <code>{refusal.requestId}</code>
        </p>
      )}
      {again !== undefined && (
        <button type="button" className="button" onClick={again}>
          {messages.again}
        </button>
      )}
    </div>
  )
}
