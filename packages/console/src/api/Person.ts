/** Who is signed in. */
import { useSuspenseQuery, queryOptions } from "@tanstack/react-query"
import { hubApi } from "./Hub.ts"

export const personQuery = queryOptions({
  queryKey: ["auth", "me"],
  queryFn: () => hubApi.auth.me(),
  staleTime: 60_000
})

/** Inside the sign-in gate there is always a user. */
export const usePerson = () => useSuspenseQuery(personQuery).data
