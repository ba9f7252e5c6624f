/** Since when the page has no connection to the Hub. Undefined while it is connected, and for the first moments without. */
import { useEffect, useState, useSyncExternalStore } from "react"

/** A connection that is back sooner is not worth a word. */
const UNNOTICED_MS = 2_000

export interface LostConnection {
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

/** `live`: whether the change feed is connected. */
export const useLostConnection = (live: boolean): LostConnection | undefined => {
  const online = useOnline()
  const [since, setSince] = useState<Date>()
  const connected = live && online
  useEffect(() => {
    if (connected) {
      setSince(undefined)
      return
    }
    const lostAt = new Date()
    const timer = setTimeout(() => setSince(lostAt), UNNOTICED_MS)
    return () => clearTimeout(timer)
  }, [connected])
  return connected || since === undefined ? undefined : { since, offline: !online }
}
