/** Filtered list of runs, newest first. */
import type { DeviceId, ProjectId, SessionId } from "@corral/domain/identity/Ids"
import type { HubRunStatus } from "@corral/domain/hub-api/HubRun"
import type { ReactNode } from "react"
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

interface Props {
  readonly filter: RunListFilter
  /** Shown for an empty list, if the user has chosen a filter. */
  readonly noMatch?: ReactNode
}

export const RunList = ({ filter, noMatch }: Props) => {
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
          noMatch ?? (
            <>
              <p>{messages.none}</p>
              <p>{messages.noneHint}</p>
            </>
          )
        }
      />
    </>
  )
}
