/** Sentence about a device that is offline: since when it was not heard. */
import { visibleLine } from "../markdown/visible.ts"
import { type Language, useLanguage, useMessages } from "../text/Language.tsx"
import { formatPointInTime } from "../text/Duration.ts"
import { threadMessages } from "./messages.ts"

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

export const useOfflineText = (device: OfflineDevice | undefined): string => {
  const messages = useMessages(threadMessages)
  const { language } = useLanguage()
  const name = visibleLine(device?.name ?? "", 60)
  const time = lastSeenText(device ?? {}, language)
  return time === undefined ? messages.offline(name) : messages.offlineSince(name, time)
}
