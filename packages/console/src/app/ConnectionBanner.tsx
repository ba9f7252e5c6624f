/** Banner while the connection is lost: when the Hub was last heard, and that nothing written is lost. */
import type { FeedConnection } from "../api/ChangeFeed.ts"
import { sentenceSpace, useLanguage, useMessages } from "../text/Language.tsx"
import { formatPointInTime } from "../text/PointInTime.ts"
import { Icon } from "../ui/Icon.tsx"
import { appMessages } from "./messages.ts"
import { useEffect, useState, useSyncExternalStore } from "react"

/** A connection that is back sooner is not worth a word. */
const UNNOTICED_MS = 2_000

interface LostConnection {
  /** When the Hub was last heard. */
  readonly since: Date
  /** Whether the browser itself is offline. */
  readonly offline: boolean
}

const subscribe = (listener: () => void) => {
  addEventListener("online", listener)
  addEventListener("offline", listener)
  return () => {
    removeEventListener("online", listener)
    removeEventListener("offline", listener)
  }
}

const useOnline = (): boolean => useSyncExternalStore(subscribe, () => navigator.onLine)

/** Since when the connection is lost, once that is worth a word. */
const useLostConnection = ({ heardAt, live }: FeedConnection): LostConnection | undefined => {
  const online = useOnline()
  const [since, setSince] = useState<Date>()
  const connected = live && online
  useEffect(() => {
    if (connected) {
      setSince(undefined)
      return
    }
    // A browser that is offline has noticed it by itself.
    const lostAt = (live ? undefined : heardAt) ?? new Date()
    const timer = setTimeout(() => setSince(lostAt), UNNOTICED_MS)
    return () => clearTimeout(timer)
  }, [connected, heardAt, live])
  return connected || since === undefined ? undefined : { since, offline: !online }
}

export const ConnectionBanner = ({ connection }: { readonly connection: FeedConnection }) => {
  const messages = useMessages(appMessages)
  const { language } = useLanguage()
  const lost = useLostConnection(connection)
  const time = lost === undefined ? "" : formatPointInTime(lost.since, new Date(), language)
  return (
    <div role="status" className={lost === undefined ? "hidden" : "banner"}>
      {lost !== undefined && (
        <>
          <Icon name="offline" />
          <span>
            {[lost.offline ? messages.offline(time) : messages.reconnecting(time), messages.kept].join(
              sentenceSpace[language]
            )}
          </span>
        </>
      )}
    </div>
  )
}
