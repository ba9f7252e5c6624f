/** Device and workspace of a thread in its header, with a mark if the device is offline. */
import type { DeviceId } from "@corral/domain/identity/Ids"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { uiMessages } from "../ui/messages.ts"
import { useDevice } from "../api/Device.ts"
import "./thread.css"

interface Props {
  readonly deviceId: DeviceId
  readonly workspace: string
}

export const DeviceName = ({ deviceId, workspace }: Props) => {
  const messages = useMessages(uiMessages)
  const device = useDevice(deviceId)
  const place = [visibleLine(device?.name ?? "", 40), visibleLine(workspace, 40)].filter(
    (part) => part !== ""
  )
  return (
    <span className="thread-device">
      {device?.state === "offline" && (
        <>
          <span aria-hidden="true">⊘ </span>
          <span className="hidden">{messages.states.offline} </span>
        </>
      )}
      <bdi>{place.join(" · ")}</bdi>
    </span>
  )
}
