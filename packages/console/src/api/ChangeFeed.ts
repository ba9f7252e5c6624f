/**
 * Change feed of the Hub, `/client/news`: invalidates the queries of changed data, so that visible data is read again. After a lost connection it
 * reconnects and invalidates all queries.
 */
import { hubChanges } from "@corral/client/Hub"
import { CorralError } from "@corral/client/http/CorralError"
import type { ConnectionState } from "@corral/client/stream/Reconnection"
import type { ChangeHint } from "@corral/domain/hub-api/ChangeHint"
import type { QueryClient } from "@tanstack/react-query"
import { useQueryClient } from "@tanstack/react-query"
import { useEffect, useState } from "react"
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

const follow = async (
  client: QueryClient,
  signal: AbortSignal,
  onLive: (live: boolean) => void
): Promise<void> => {
  const staleness = new Invalidation(client)
  let wasLive = false
  const onConnection = (state: ConnectionState) => {
    onLive(state === "live")
    if (state === "live" && wasLive) void client.invalidateQueries()
    wasLive = true
  }
  try {
    for await (const hints of hubChanges(hubTransport, { signal, onConnection }))
      staleness.add(hints.flatMap(({ kind }) => groupsByKind[kind]))
  } catch (error) {
    if (signal.aborted) return
    onLive(false)
    if (error instanceof CorralError && error.code === "unauthorized")
      void client.resetQueries({ queryKey: ["auth"] })
  }
}

/** Follows the change feed while mounted. Returns whether the Hub is connected. */
export const useChangeFeed = (): boolean => {
  const client = useQueryClient()
  const [live, setLive] = useState(true)
  useEffect(() => {
    const stop = new AbortController()
    void follow(client, stop.signal, setLive)
    return () => stop.abort()
  }, [client])
  return live
}
