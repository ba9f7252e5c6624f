/** A page that failed while it was drawn: what is known, and another try. The rest of the console stays. */
import type { ErrorComponentProps } from "@tanstack/react-router"
import { HubRefusal } from "../api/Hub.ts"
import { useWords } from "../text/Language.tsx"
import { Page } from "../ui/Page.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { appWords } from "./messages.ts"

export const ErrorPage = ({ error, reset }: ErrorComponentProps) => {
  const words = useWords(appWords)
  return (
    <Page title={words.broken}>
      {error instanceof HubRefusal ? <RefusalNote error={error} /> : <p>{words.brokenHint}</p>}
      <button type="button" className="button" onClick={reset}>
        {words.again}
      </button>
    </Page>
  )
}
