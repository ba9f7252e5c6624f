/** Name of the user who acted, if the reader shares a project with them. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useQuery } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { useCurrentUser } from "../api/CurrentUser.ts"
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
  const members = useQuery({
    queryKey: ["projects", projectId, "members", "names"],
    queryFn: ({ signal }) =>
      hubApi.projects.members({ params: { id: projectId ?? ("" as never) }, query: { limit: 200 }, signal }),
    enabled: isPerson && projectId !== undefined && by !== user.id,
    staleTime: 300_000
  })
  if (by === user.id) return <>{messages.you}</>
  if (!isPerson) return <>{by.includes("policy") ? messages.policy : visibleLine(by, 60)}</>
  const name = members.data?.items.find(({ userId }) => userId === by)?.name
  return <span title={by}>{name === undefined ? by : visibleLine(name, 60)}</span>
}
