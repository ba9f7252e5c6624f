/** Names of the people who write in a session. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { MessageAuthor } from "@corral/domain/session/Message"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { useMemberName } from "../api/MemberName.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { threadMessages } from "./messages.ts"

/** Name of a person. The text of "you" for the reader. */
export const usePersonName = (projectId: HubRun["projectId"] | undefined, author: MessageAuthor): string => {
  const messages = useMessages(threadMessages)
  const { user } = useCurrentUser()
  const userId = author.kind === "agent" || author.userId === user.id ? undefined : author.userId
  const name = useMemberName(projectId, userId)
  if (author.kind === "agent") return messages.agent
  if (author.userId === user.id) return messages.you
  return visibleLine(name ?? author.userId, 60)
}
