/**
 * Change feed of the Hub, `/client/news`: invalidates the queries of changed data, so that visible data is read again. After a lost connection it
 * reconnects and invalidates all queries. Hints also go to one listener.
 */
import { hubChanges } from "@corral/client/Hub"
import { CorralError } from "@corral/client/http/CorralError"
import type { ConnectionState } from "@corral/client/stream/Reconnection"
import type { ChangeHint } from "@corral/domain/hub-api/ChangeHint"
import type { QueryClient } from "@tanstack/react-query"
import { useQueryClient } from "@tanstack/react-query"
import { useEffect, useRef, useState } from "react"
import { hubTransport } from "./Hub.ts"
import { Invalidation } from "./Invalidation.ts"

type OnHints = (hints: ReadonlyArray<ChangeHint>) => void

/** Connection to the Hub. */
export interface FeedConnection {
  readonly live: boolean
  /** When the Hub was last heard, where the connection is lost. */
  readonly heardAt: Date | undefined
}

interface Listeners {
  readonly onConnectionChange: (connection: FeedConnection) => void
  readonly onHints: OnHints
}

const follow = async (
  client: QueryClient,
  signal: AbortSignal,
  { onHints, onConnectionChange }: Listeners
): Promise<void> => {
  const staleness = new Invalidation(client)
  let wasLive = false
  let latest: FeedConnection = { live: true, heardAt: undefined }
  const onConnection = (state: ConnectionState, heardAt: Date | undefined) => {
    latest = { live: state === "live", heardAt }
    onConnectionChange(latest)
    if (state === "live" && wasLive) staleness.addAll()
    wasLive = true
  }
  try {
    for await (const hints of hubChanges(hubTransport, { signal, onConnection })) {
      staleness.add(hints)
      onHints(hints)
    }
  } catch (error) {
    if (signal.aborted) return
    onConnectionChange({ ...latest, live: false })
    if (error instanceof CorralError && error.code === "unauthorized")
      void client.resetQueries({ queryKey: ["auth"] })
  }
}

/** Follows the change feed while mounted. */
export const useChangeFeed = (onHints: OnHints): FeedConnection => {
  const client = useQueryClient()
  const [connection, setConnection] = useState<FeedConnection>({ live: true, heardAt: undefined })
  const latest = useRef(onHints)
  useEffect(() => {
    latest.current = onHints
  })
  useEffect(() => {
    const stop = new AbortController()
    const listeners: Listeners = {
      onConnectionChange: setConnection,
      onHints: (hints) => latest.current(hints)
    }
    void follow(client, stop.signal, listeners)
    return () => stop.abort()
  }, [client])
  return connection
}
