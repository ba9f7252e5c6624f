/** Signed-in user, and the end of the user's sign-in in this browser. */
import { queryOptions, useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query"
import { accountStorage } from "./AccountStorage.ts"
import { earlyApi, hubApi } from "./Hub.ts"

/** Sign-out: ends the sign-in of this browser and removes all data of the user for the next one. */
export const useSignOut = (): (() => void) => {
  const client = useQueryClient()
  const { mutate } = useMutation({
    mutationFn: () => hubApi.auth.logout(),
    onSettled: async () => {
      accountStorage.release()
      await client.resetQueries({ queryKey: ["auth"] })
      client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "auth" })
    }
  })
  return () => mutate()
}

export const currentUserQuery = queryOptions({
  queryKey: ["auth", "me"],
  queryFn: async () => {
    const me = await earlyApi.auth.me()
    if (accountStorage.claim(me.user.id)) return me
    // What this page has in memory is another account's.
    location.reload()
    return new Promise<never>(() => undefined)
  },
  staleTime: 60_000
})

/** The sign-in gate guarantees a user. */
export const useCurrentUser = () => useSuspenseQuery(currentUserQuery).data
