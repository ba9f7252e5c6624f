/** Sign-in gate: shows the pages to signed-in users and the sign-in page to others. */
import { useQuery } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { HubRefusal } from "../api/Hub.ts"
import { currentUserQuery } from "../api/CurrentUser.ts"
import { useMessages } from "../text/Language.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { SignInPage } from "./SignInPage.tsx"
import { appMessages } from "./messages.ts"

export const SignInGate = ({ children }: { readonly children: ReactNode }) => {
  const messages = useMessages(appMessages)
  const { data, error, refetch } = useQuery(currentUserQuery)
  if (error instanceof HubRefusal && error.code === "unauthorized") return <SignInPage />
  if (data !== undefined) return children
  return (
    <main className="gate">
      {error === null ? (
        <p role="status">{messages.loading}</p>
      ) : (
        <RefusalNote error={error} again={() => void refetch()} />
      )}
    </main>
  )
}
