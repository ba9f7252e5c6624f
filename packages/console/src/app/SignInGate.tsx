/** Sign-in gate: shows the pages to signed-in users and the sign-in page to others. */
import { useQuery } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { CorralError } from "@corral/client/http/CorralError"
import { currentUserQuery } from "../api/CurrentUser.ts"
import { Loading } from "../ui/Loading.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { SignInPage } from "./SignInPage.tsx"

export const SignInGate = ({ children }: { readonly children: ReactNode }) => {
  const { data, error, refetch } = useQuery(currentUserQuery)
  if (error instanceof CorralError && error.code === "unauthorized") return <SignInPage />
  if (data !== undefined) return children
  return (
    <main className="gate">
      {error === null ? <Loading /> : <RefusalNote error={error} again={() => void refetch()} />}
    </main>
  )
}
