/** Page of the user's devices and devices shared with them. */
import { hubApi } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
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
  return (
    <PageFrame title={messages.title} actions={<AddDevice devices={list.items} />}>
      <p className="page-hint">{messages.noneHint}</p>
      {list.items.length > 0 && (
        <ul className="rows" aria-label={messages.title}>
          {list.items.map((device) => (
            <DeviceRow key={device.id} device={device} />
          ))}
        </ul>
      )}
      <ListMore
        list={list}
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
