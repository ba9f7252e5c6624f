/** Title of a session: of a loaded list, or read alone for a session beyond it. */
import type { SessionId } from "@corral/domain/identity/Ids"
import { useQuery } from "@tanstack/react-query"
import { hubApi } from "./Hub.ts"
import { useSessions } from "./Sessions.ts"

/** `undefined` without a session, and until it is read. */
export const useSessionTitle = (id: SessionId | undefined): string | undefined => {
  const { isLoading, items } = useSessions({ state: "active" })
  const listed = items.find((session) => session.id === id)?.title
  const { data } = useQuery({
    // Not a key of `sessions`: hints about messages must not read all titles again.
    queryKey: ["session-title", id],
    queryFn: async ({ signal }) =>
      id === undefined ? "" : (await hubApi.sessions.get({ params: { id }, signal })).title,
    enabled: id !== undefined && listed === undefined && !isLoading,
    staleTime: 300_000
  })
  return listed ?? data
}
