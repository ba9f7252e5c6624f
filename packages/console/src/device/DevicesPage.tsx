/** The devices of a person and those that are shared with them, as they come and go. */
import { hub } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
import { useWords } from "../text/Language.tsx"
import { ListMore } from "../ui/ListMore.tsx"
import { Page } from "../ui/Page.tsx"
import { AddDevice } from "./AddDevice.tsx"
import { DeviceRow } from "./DeviceRow.tsx"
import { deviceWords } from "./messages.ts"

export const DevicesPage = () => {
  const words = useWords(deviceWords)
  const list = useList(["devices", "list"], ({ page, signal }) => hub.devices.list({ query: page, signal }))
  return (
    <Page title={words.title} actions={<AddDevice devices={list.items} />}>
      {list.items.length > 0 && (
        <ul className="rows" aria-label={words.title}>
          {list.items.map((device) => (
            <DeviceRow key={device.id} device={device} />
          ))}
        </ul>
      )}
      <ListMore
        list={list}
        empty={
          <>
            <p>{words.none}</p>
            <p>{words.noneHint}</p>
          </>
        }
      />
    </Page>
  )
}
