/**
 * Change feed of the Hub, `/client/news`: invalidates the queries that a hint is about, so that visible data is read again. Reconnects, and
 * then invalidates all queries.
 */
import type { HubNews } from "@corral/domain/hub-api/HubNews"
import type { QueryClient } from "@tanstack/react-query"
import { useQueryClient } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import { hubRoutes } from "./routes.ts"
import { eventsOf } from "./ServerSentEvents.ts"

/** Groups of the contract whose lists a hint of that kind is about. */
const staleBy: { readonly [K in HubNews["kind"]]: ReadonlyArray<string> } = {
  device: ["devices"],
  approval: ["approvals", "runs"],
  task: ["tasks"],
  run: ["runs", "sessions"]
}

/** Hints of a burst are heeded once. */
const GATHER_MS = 250
const FIRST_PAUSE_MS = 500
const LAST_PAUSE_MS = 15_000

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true })
  })

/** Makes groups stale, those of one burst together. */
class Staleness {
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
    }, GATHER_MS)
  }
}

const kindOf = (data: string): HubNews["kind"] | undefined => {
  const hint: { readonly kind?: string } = JSON.parse(data)
  // A later Hub may know kinds that this console does not.
  return Object.hasOwn(staleBy, hint.kind ?? "") ? (hint.kind as HubNews["kind"]) : undefined
}

const follow = async (
  client: QueryClient,
  signal: AbortSignal,
  onLive: (live: boolean) => void
): Promise<void> => {
  const staleness = new Staleness(client)
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
          if (kind !== undefined) staleness.add(staleBy[kind])
        }
      }
    } catch {
      // The network, or the page is left.
    }
    if (signal.aborted) return
    onLive(false)
    await pause(wait * (0.5 + Math.random()), signal)
    wait = Math.min(wait * 2, LAST_PAUSE_MS)
  }
}

/** Follows as long as it is mounted; whether the Hub is there. */
export const useNews = (): boolean => {
  const client = useQueryClient()
  const [live, setLive] = useState(true)
  useEffect(() => {
    const stop = new AbortController()
    void follow(client, stop.signal, setLive)
    return () => stop.abort()
  }, [client])
  return live
}
