/** Names of the people who write in a session. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { MessageAuthor } from "@corral/domain/session/Message"
import { useQuery } from "@tanstack/react-query"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { hubApi } from "../api/Hub.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { threadMessages } from "./messages.ts"

/** Name of a person. The text of "you" for the reader. */
export const usePersonName = (projectId: HubRun["projectId"] | undefined, author: MessageAuthor): string => {
  const messages = useMessages(threadMessages)
  const { user } = useCurrentUser()
  const { data } = useQuery({
    queryKey: ["projects", projectId, "members", "names"],
    queryFn: ({ signal }) =>
      hubApi.projects.members({ params: { id: projectId ?? ("" as never) }, query: { limit: 200 }, signal }),
    enabled: projectId !== undefined && author.kind === "user" && author.userId !== user.id,
    staleTime: 300_000
  })
  if (author.kind === "agent") return messages.agent
  if (author.userId === user.id) return messages.you
  return visibleLine(data?.items.find(({ userId }) => userId === author.userId)?.name ?? author.userId, 60)
}
