/** Banner of a thread whose device is offline: since when, and what happens to work and messages. */
import type { DeviceId } from "@corral/domain/identity/Ids"
import { Link } from "@tanstack/react-router"
import { useDevice } from "../api/ProjectsAndTargets.ts"
import { visibleLine } from "../markdown/visible.ts"
import { formatPointInTime } from "../text/Duration.ts"
import { type Language, sentenceSpace, useLanguage, useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { uiMessages } from "../ui/messages.ts"
import { threadMessages } from "./messages.ts"
import "./thread.css"

interface OfflineDevice {
  readonly name: string
  /** ISO 8601. */
  readonly lastSeenAt?: string
}

/** When the device was last heard. Undefined if it never was. */
export const lastSeenText = (
  { lastSeenAt }: Pick<OfflineDevice, "lastSeenAt">,
  language: Language
): string | undefined =>
  lastSeenAt === undefined ? undefined : formatPointInTime(new Date(lastSeenAt), new Date(), language)

/** Sentence about a device that is offline: since when it was not heard. */
export const useOfflineText = (device: OfflineDevice | undefined): string => {
  const messages = useMessages(threadMessages)
  const { language } = useLanguage()
  const name = visibleLine(device?.name ?? "", 60)
  const time = lastSeenText(device ?? {}, language)
  return time === undefined ? messages.offline(name) : messages.offlineSince(name, time)
}

interface DeviceNameProps {
  readonly deviceId: DeviceId
  readonly workspace: string
}

/** Device and workspace of a thread in its header, with a mark if the device is offline. */
export const DeviceName = ({ deviceId, workspace }: DeviceNameProps) => {
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

interface DeviceBannerProps {
  readonly deviceId: DeviceId | undefined
  readonly isWorking: boolean
}

export const DeviceBanner = ({ deviceId, isWorking }: DeviceBannerProps) => {
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
