/** Signed-in user. */
import { useSuspenseQuery, queryOptions } from "@tanstack/react-query"
import { accountStorage } from "./AccountStorage.ts"
import { hubApi } from "./Hub.ts"

export const currentUserQuery = queryOptions({
  queryKey: ["auth", "me"],
  queryFn: async () => {
    const me = await hubApi.auth.me()
    if (accountStorage.claim(me.user.id)) return me
    // What this page has in memory is another account's.
    location.reload()
    return new Promise<never>(() => undefined)
  },
  staleTime: 60_000
})

/** The sign-in gate guarantees a user. */
export const useCurrentUser = () => useSuspenseQuery(currentUserQuery).data
