/**
 * Root component: providers with the cache of Hub data, the gate that shows the pages to signed-in users and the sign-in page to others, and
 * routes.
 */
import { CorralError } from "@corral/client/http/CorralError"
import { pathOf } from "@corral/client/http/Endpoints"
import { hubPaths } from "@corral/client/hubPaths"
import { MutationCache, QueryCache, QueryClient, QueryClientProvider, useQuery } from "@tanstack/react-query"
import { RouterProvider } from "@tanstack/react-router"
import type { ReactNode } from "react"
import { followAccount } from "../api/AccountStorage.ts"
import { currentUserQuery } from "../api/CurrentUser.ts"
import { LanguageProvider, useMessages } from "../text/Language.tsx"
import { Loading } from "../ui/Loading.tsx"
import { Mark } from "../ui/Icon.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { showStoredTheme } from "../ui/Theme.ts"
import { appMessages } from "./messages.ts"
import { router } from "./Router.tsx"

/** Whether a retry may succeed. */
const isTransient = (error: Error): boolean =>
  error instanceof CorralError && ["unreachable", "overloaded", "rate_limited"].includes(error.code)

/** After an expired sign-in, reloads the user, so that the sign-in page opens. */
const onError = (error: Error): void => {
  if (error instanceof CorralError && error.code === "unauthorized")
    void queryClient.resetQueries({ queryKey: ["auth"], exact: false })
}

/**
 * Cache of Hub data. Keys start with the group of the contract (`["runs", …]`, `["approvals", …]`), so that a change notice can invalidate
 * the whole group.
 */
const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: (error, { queryKey }) => queryKey[0] !== "auth" && onError(error) }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      refetchOnWindowFocus: true,
      retry: (failures, error) => failures < 2 && isTransient(error)
    },
    mutations: { retry: false }
  }
})

/** Address of the sign-in, which returns to the current URL. */
const loginAddress = (): string => {
  const { hash, pathname, search } = globalThis.location
  return pathOf(hubPaths.signIn.login[1], { query: { returnTo: pathname + search + hash } })
}

const SignInPage = () => {
  const messages = useMessages(appMessages)
  return (
    <main className="gate">
      <div className="gate-card">
        <Mark />
        <h1>Corral</h1>
        <p>{messages.tagline}</p>
        <a className="button primary" href={loginAddress()}>
          {messages.signIn}
        </a>
        <p className="quiet">{messages.signInHint}</p>
      </div>
    </main>
  )
}

/** Sign-in gate: shows the pages to signed-in users and the sign-in page to others. */
const SignInGate = ({ children }: { readonly children: ReactNode }) => {
  const { data, error, refetch } = useQuery(currentUserQuery)
  if (error instanceof CorralError && error.code === "unauthorized") return <SignInPage />
  if (data !== undefined) return children
  return (
    <main className="gate">
      {error === null ? <Loading /> : <RefusalNote error={error} again={() => void refetch()} />}
    </main>
  )
}

showStoredTheme()
followAccount()

/** Root component: providers, the gate that shows the pages to signed-in users and the sign-in page to others, and routes. */
export const App = () => (
  <LanguageProvider>
    <QueryClientProvider client={queryClient}>
      <SignInGate>
        <RouterProvider router={router} />
      </SignInGate>
    </QueryClientProvider>
  </LanguageProvider>
)
