/** Error page for a page that failed to render. The app shell remains. */
import type { ErrorComponentProps } from "@tanstack/react-router"
import { Link } from "@tanstack/react-router"
import { CorralError } from "@corral/client/http/CorralError"
import { useMessages } from "../text/Language.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { appMessages } from "./messages.ts"

export const ErrorPage = ({ error, reset }: ErrorComponentProps) => {
  const messages = useMessages(appMessages)
  return (
    <PageFrame title={messages.broken}>
      {error instanceof CorralError ? (
        <RefusalNote error={error} />
      ) : (
        <p className="page-hint">{messages.brokenHint}</p>
      )}
      <div className="form-actions">
        <button type="button" className="button primary" onClick={reset}>
          {messages.again}
        </button>
        <Link to="/" className="button">
          {messages.toHome}
        </Link>
      </div>
    </PageFrame>
  )
}
