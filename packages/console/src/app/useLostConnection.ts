/** Since when the page has heard nothing from the Hub. Undefined while it is connected, and for the first moments without. */
import { useEffect, useState, useSyncExternalStore } from "react"
import type { FeedConnection } from "../api/ChangeFeed.ts"

/** A connection that is back sooner is not worth a word. */
const UNNOTICED_MS = 2_000

export interface LostConnection {
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

export const useLostConnection = ({ heardAt, live }: FeedConnection): LostConnection | undefined => {
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
