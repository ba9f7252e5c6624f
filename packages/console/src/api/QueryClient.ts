/**
 * Cache of Hub data. Keys start with the group of the contract (`["runs", …]`, `["approvals", …]`), so that a change notice can invalidate
 * the whole group.
 */
import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query"
import { CorralError } from "@corral/client/http/CorralError"

/** Whether a retry may succeed. */
const isTransient = (error: Error): boolean =>
  error instanceof CorralError && ["unreachable", "overloaded", "rate_limited"].includes(error.code)

/** After an expired sign-in, reloads the user, so that the sign-in page opens. */
const onError = (error: Error): void => {
  if (error instanceof CorralError && error.code === "unauthorized")
    void queryClient.resetQueries({ queryKey: ["auth"], exact: false })
}

export const queryClient: QueryClient = new QueryClient({
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
