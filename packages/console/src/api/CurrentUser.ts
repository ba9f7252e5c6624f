/** Signed-in user. */
import { useSuspenseQuery, queryOptions } from "@tanstack/react-query"
import { hubApi } from "./Hub.ts"

export const currentUserQuery = queryOptions({
  queryKey: ["auth", "me"],
  queryFn: () => hubApi.auth.me(),
  staleTime: 60_000
})

/** The sign-in gate guarantees a user. */
export const useCurrentUser = () => useSuspenseQuery(currentUserQuery).data
