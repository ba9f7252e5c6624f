/** Optional session of a new run. */
import type { ProjectId } from "@corral/domain/identity/Ids"
import { useQuery } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { useMessages } from "../text/Language.tsx"
import { Field } from "../ui/Field.tsx"
import { startMessages } from "./messages.ts"

export const SessionField = ({
  initialId,
  projectId
}: {
  readonly projectId: ProjectId
  readonly initialId: string | undefined
}) => {
  const messages = useMessages(startMessages)
  const { data } = useQuery({
    queryKey: ["sessions", "active", projectId],
    queryFn: ({ signal }) =>
      hubApi.sessions.list({ query: { projectId, state: "active", limit: 200 }, signal })
  })
  return (
    // Remount when the sessions are loaded, so that the initial one is selected.
    <Field key={data === undefined ? "unknown" : "known"} label={messages.session}>
      <select name="sessionId" defaultValue={initialId ?? ""}>
        <option value="">{messages.noSession}</option>
        {data?.items.map(({ id, title }) => (
          <option key={id} value={id}>
            {title}
          </option>
        ))}
      </select>
    </Field>
  )
}
