/**
 * Cache of responses of the Hub. Keys begin with the group of the contract (`["runs", …]`, `["approvals", …]`): a hint of the change feed
 * invalidates all keys of its groups.
 */
import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query"
import { HubRefusal } from "./Hub.ts"

/** Worth asking again: the Hub may be back, or have time. */
const isPassing = (error: Error): boolean =>
  error instanceof HubRefusal && ["unreachable", "overloaded", "rate_limited"].includes(error.code)

/** The sign-in has ended: who is signed in is asked again, and the gate closes. */
const onError = (error: Error): void => {
  if (error instanceof HubRefusal && error.code === "unauthorized")
    void queryClient.resetQueries({ queryKey: ["auth"], exact: false })
}

export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: (error, { queryKey }) => queryKey[0] !== "auth" && onError(error) }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      refetchOnWindowFocus: true,
      retry: (failures, error) => failures < 2 && isPassing(error)
    },
    mutations: { retry: false }
  }
})
