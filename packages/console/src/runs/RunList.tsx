/** The runs that a filter lets through, newest first. */
import type { DeviceId, ProjectId, SessionId } from "@corral/domain/identity/Ids"
import type { HubRunStatus } from "@corral/domain/hub-api/HubRun"
import { hubApi } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
import { useMessages } from "../text/Language.tsx"
import { ListMore } from "../ui/ListMore.tsx"
import { RunRows } from "./RunRows.tsx"
import { runsMessages } from "./messages.ts"

export interface RunListFilter {
  readonly projectId?: ProjectId
  readonly sessionId?: SessionId
  readonly targetId?: DeviceId
  readonly state?: HubRunStatus
}

export const RunList = ({ filter }: { readonly filter: RunListFilter }) => {
  const messages = useMessages(runsMessages)
  const list = useList(["runs", "list", filter], ({ page, signal }) =>
    hubApi.runs.list({ query: { ...filter, ...page }, signal })
  )
  return (
    <>
      <RunRows runs={list.items} />
      <ListMore
        list={list}
        empty={
          <>
            <p>{messages.none}</p>
            <p>{messages.noneHint}</p>
          </>
        }
      />
    </>
  )
}
