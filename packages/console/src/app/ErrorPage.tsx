/** A page that failed while it was drawn: what is known, and another try. The rest of the console stays. */
import type { ErrorComponentProps } from "@tanstack/react-router"
import { HubRefusal } from "../api/Hub.ts"
import { useMessages } from "../text/Language.tsx"
import { PageFrame } from "../ui/Page.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { appMessages } from "./messages.ts"

export const ErrorPage = ({ error, reset }: ErrorComponentProps) => {
  const messages = useMessages(appMessages)
  return (
    <PageFrame title={messages.broken}>
      {error instanceof HubRefusal ? <RefusalNote error={error} /> : <p>{messages.brokenHint}</p>}
      <button type="button" className="button" onClick={reset}>
        {messages.again}
      </button>
    </PageFrame>
  )
}
