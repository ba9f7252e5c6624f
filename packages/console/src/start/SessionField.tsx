/** The session in which a run shall be, if in any. */
import type { ProjectId } from "@corral/domain/identity/Ids"
import { useQuery } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { useMessages } from "../text/Language.tsx"
import { Field } from "../ui/Field.tsx"
import { startMessages } from "./messages.ts"

export const SessionField = ({
  asked,
  projectId
}: {
  readonly projectId: ProjectId
  readonly asked: string | undefined
}) => {
  const messages = useMessages(startMessages)
  const { data } = useQuery({
    queryKey: ["sessions", "active", projectId],
    queryFn: ({ signal }) =>
      hubApi.sessions.list({ query: { projectId, state: "active", limit: 200 }, signal })
  })
  return (
    // What was asked for is chosen once it is known.
    <Field key={data === undefined ? "unknown" : "known"} label={messages.session}>
      <select name="sessionId" defaultValue={asked ?? ""}>
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
