/** Banner of a thread whose device is offline: since when, and what happens to work and messages. */
import type { DeviceId } from "@corral/domain/identity/Ids"
import { Link } from "@tanstack/react-router"
import { useDevice } from "../api/Device.ts"
import { sentenceSpace, useLanguage, useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { threadMessages } from "./messages.ts"
import { useOfflineText } from "./offlineText.ts"
import "./thread.css"

interface Props {
  readonly deviceId: DeviceId | undefined
  readonly isWorking: boolean
}

export const DeviceBanner = ({ deviceId, isWorking }: Props) => {
  const messages = useMessages(threadMessages)
  const { language } = useLanguage()
  const device = useDevice(deviceId)
  const isOffline = device?.state === "offline"
  const text = useOfflineText(device)
  return (
    <div className={isOffline ? "thread-banner" : "hidden"} role="status">
      {isOffline && (
        <>
          <Icon name="offline" />
          <span>
            {[text, ...(isWorking ? [messages.offlineWork] : []), messages.offlineWaits].join(
              sentenceSpace[language]
            )}
          </span>
          <Link to="/devices">{messages.devices}</Link>
        </>
      )}
    </div>
  )
}
