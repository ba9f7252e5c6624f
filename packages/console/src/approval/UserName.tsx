/** Name of the user who acted, if the reader shares a project with them. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { useMemberName } from "../api/MemberName.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { approvalMessages } from "./messages.ts"

interface Props {
  /** User id, or the actor as named by the Edge. */
  readonly by: string
  readonly projectId: HubRun["projectId"] | undefined
}

export const UserName = ({ by, projectId }: Props) => {
  const messages = useMessages(approvalMessages)
  const { user } = useCurrentUser()
  const isPerson = by.startsWith("usr_")
  const name = useMemberName(projectId, isPerson && by !== user.id ? by : undefined)
  if (by === user.id) return <>{messages.you}</>
  if (!isPerson) return <>{by.includes("policy") ? messages.policy : visibleLine(by, 60)}</>
  return <span title={by}>{name === undefined ? by : visibleLine(name, 60)}</span>
}
