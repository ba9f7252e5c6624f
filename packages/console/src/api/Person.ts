/** Who is signed in. */
import { useSuspenseQuery, queryOptions } from "@tanstack/react-query"
import { hubApi } from "./Hub.ts"

export const personQuery = queryOptions({
  queryKey: ["auth", "me"],
  queryFn: () => hubApi.auth.me(),
  staleTime: 60_000
})

/** Behind the gate there always is somebody. */
export const usePerson = () => useSuspenseQuery(personQuery).data
