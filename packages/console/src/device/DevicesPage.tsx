/** Page of the user's devices and devices shared with them. */
import { useQuery } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
import { projectsQuery, targetsQuery } from "../api/ProjectsAndTargets.ts"
import { useMessages } from "../text/Language.tsx"
import { ListMore } from "../ui/ListMore.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { AddDevice } from "./AddDevice.tsx"
import { DeviceRow } from "./DeviceRow.tsx"
import { deviceMessages } from "./messages.ts"

export const DevicesPage = () => {
  const messages = useMessages(deviceMessages)
  const list = useList(["devices", "list"], ({ page, signal }) =>
    hubApi.devices.list({ query: page, signal })
  )
  const targets = useQuery(targetsQuery())
  const projects = useQuery(projectsQuery)
  // A row has its full height from the start.
  const isLoading = list.isLoading || targets.isLoading || projects.isLoading
  return (
    <PageFrame title={messages.title} actions={<AddDevice devices={list.items} />}>
      <p className="page-hint">{messages.noneHint}</p>
      {list.items.length > 0 && !isLoading && (
        <ul className="rows" aria-label={messages.title}>
          {list.items.map((device) => (
            <DeviceRow
              key={device.id}
              device={device}
              target={targets.data?.items.find(({ id }) => id === device.id)}
            />
          ))}
        </ul>
      )}
      <ListMore
        list={{ ...list, isLoading }}
        empty={
          <>
            <p>{messages.none}</p>
            <p>{messages.noneNext}</p>
          </>
        }
      />
    </PageFrame>
  )
}
