/** The runs that a filter lets through, newest first. */
import type { DeviceId, ProjectId, SessionId } from "@corral/domain/identity/Ids"
import type { HubRunStatus } from "@corral/domain/hub-api/HubRun"
import { hub } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
import { useWords } from "../text/Language.tsx"
import { ListMore } from "../ui/ListMore.tsx"
import { RunRows } from "./RunRows.tsx"
import { runsWords } from "./messages.ts"

export interface RunFilter {
  readonly projectId?: ProjectId
  readonly sessionId?: SessionId
  readonly targetId?: DeviceId
  readonly state?: HubRunStatus
}

export const RunList = ({ filter }: { readonly filter: RunFilter }) => {
  const words = useWords(runsWords)
  const list = useList(["runs", "list", filter], ({ page, signal }) =>
    hub.runs.list({ query: { ...filter, ...page }, signal })
  )
  return (
    <>
      <RunRows runs={list.items} />
      <ListMore
        list={list}
        empty={
          <>
            <p>{words.none}</p>
            <p>{words.noneHint}</p>
          </>
        }
      />
    </>
  )
}
