/**
 * Change feed of the Hub, `/client/news`: invalidates the queries of changed data, so that visible data is read again. After a lost connection it
 * reconnects and invalidates all queries.
 */
import type { ChangeHint } from "@corral/domain/hub-api/ChangeHint"
import type { QueryClient } from "@tanstack/react-query"
import { useQueryClient } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import { hubRoutes } from "./routes.ts"
import { eventsOf } from "./ServerSentEvents.ts"

/** Groups of the contract whose lists change with a hint of this kind. */
const groupsByKind: { readonly [K in ChangeHint["kind"]]: ReadonlyArray<string> } = {
  device: ["devices"],
  approval: ["approvals", "runs"],
  task: ["tasks"],
  run: ["runs", "sessions"]
}

/** Delay that combines the hints of a burst. */
const BURST_MS = 250
const FIRST_PAUSE_MS = 500
const LAST_PAUSE_MS = 15_000

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true })
  })

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

const kindOf = (data: string): ChangeHint["kind"] | undefined => {
  const hint: { readonly kind?: string } = JSON.parse(data)
  // A newer Hub may send kinds that this console does not support.
  return Object.hasOwn(groupsByKind, hint.kind ?? "") ? (hint.kind as ChangeHint["kind"]) : undefined
}

const follow = async (
  client: QueryClient,
  signal: AbortSignal,
  onLive: (live: boolean) => void
): Promise<void> => {
  const staleness = new Invalidation(client)
  let [wait, again] = [FIRST_PAUSE_MS, false]
  while (!signal.aborted) {
    try {
      const response = await fetch(hubRoutes.news.follow[1], {
        headers: { accept: "text/event-stream" },
        signal
      })
      if (response.status === 401) return void client.resetQueries({ queryKey: ["auth"] })
      if (response.ok && response.body !== null) {
        onLive(true)
        wait = FIRST_PAUSE_MS
        if (again) void client.invalidateQueries()
        again = true
        for await (const { data } of eventsOf(response.body)) {
          const kind = kindOf(data)
          if (kind !== undefined) staleness.add(groupsByKind[kind])
        }
      }
    } catch {
      // The network failed, or the user left the page.
    }
    if (signal.aborted) return
    onLive(false)
    await pause(wait * (0.5 + Math.random()), signal)
    wait = Math.min(wait * 2, LAST_PAUSE_MS)
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
