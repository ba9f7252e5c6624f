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

/** Groups of the contract whose lists change with a hint of this kind. */
const groupsByKind: { readonly [K in ChangeHint["kind"]]: ReadonlyArray<string> } = {
  device: ["devices"],
  approval: ["approvals", "runs"],
  task: ["tasks"],
  run: ["runs", "sessions"],
  message: ["sessions"]
}

/** Delay that combines the hints of a burst. */
const BURST_MS = 250

/** Invalidates groups, those of one burst together. */
class Invalidation {
  private readonly client: QueryClient
  private readonly groups = new Set<string>()
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(client: QueryClient) {
    this.client = client
  }

  add(groups: ReadonlyArray<string>): void {
    for (const group of groups) this.groups.add(group)
    this.timer ??= setTimeout(() => {
      this.timer = undefined
      for (const group of this.groups) void this.client.invalidateQueries({ queryKey: [group] })
      this.groups.clear()
    }, BURST_MS)
  }
}

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
    if (state === "live" && wasLive) void client.invalidateQueries()
    wasLive = true
  }
  try {
    for await (const hints of hubChanges(hubTransport, { signal, onConnection })) {
      staleness.add(hints.flatMap(({ kind }) => groupsByKind[kind]))
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
