/** Name of a member of a project, read with those of the others. */
import type { ProjectId } from "@corral/domain/identity/Ids"
import { useQuery } from "@tanstack/react-query"
import { hubApi } from "./Hub.ts"

/** `undefined` without a user, until the names are read, and for users who are not members. */
export const useMemberName = (
  projectId: ProjectId | undefined,
  userId: string | undefined
): string | undefined => {
  const { data } = useQuery({
    queryKey: ["projects", projectId, "members", "names"],
    queryFn: ({ signal }) =>
      hubApi.projects.members({ params: { id: projectId ?? ("" as never) }, query: { limit: 200 }, signal }),
    enabled: projectId !== undefined && userId !== undefined,
    staleTime: 300_000
  })
  return data?.items.find((member) => member.userId === userId)?.name
}
