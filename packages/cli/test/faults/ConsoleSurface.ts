/**
 * The console as its pages use the Hub: the browser's cookie with its CSRF header, the change feed, and the event stream of a run. Nothing is
 * read again unless the feed says that it changed, or was connected again.
 */
import { hubClient, type HubConnection } from "@corral/client/Hub"
import { CorralError } from "@corral/client/http/CorralError"
import { CSRF_HEADER, SESSION_COOKIE } from "@corral/domain/hub-api/SessionAuthority"
import { csrfOf } from "@corral/hub/signin/SessionToken"
import { until, within } from "@corral/testing/time/Until"
import type { AgentWork, FaultConversation, FaultSurface } from "./FaultProduct.ts"
import { HubConversation, type HubPlacement, type HubReader } from "./HubConversation.ts"

const PATIENCE_MS = 60_000

/** The change feed of one page. */
class PageFeed {
  /** Times that the page said that it is not connected. */
  outages = 0
  private hints = 0
  private state = "not connected"
  private readonly stopping = new AbortController()
  private readonly ended: Promise<void>
  private change = Promise.withResolvers<void>()

  constructor(hub: HubConnection) {
    this.ended = this.follow(hub)
  }

  /** Looks after each change. A request that fails meanwhile is repeated, as pages do. */
  async wait<A>(look: () => Promise<A | undefined>, what: string): Promise<A> {
    const read = async () => {
      try {
        return { value: await look() }
      } catch (error) {
        if (error instanceof CorralError && error.isTransient) return undefined
        throw error
      }
    }
    for (;;) {
      const changed = this.change.promise
      const { value } = await until(read, what, PATIENCE_MS)
      if (value !== undefined) return value
      await within(
        Promise.race([changed, this.ended]),
        PATIENCE_MS,
        `a change before ${what} (${this.hints} hints, ${this.state}, ${this.outages} outages)`
      )
    }
  }

  async stop(): Promise<void> {
    this.stopping.abort()
    await this.ended
  }

  private async follow(hub: HubConnection): Promise<void> {
    const { signal } = this.stopping
    const changed = () => {
      this.change.resolve()
      this.change = Promise.withResolvers()
    }
    const onConnection = (state: "live" | "lost") => {
      this.state = state
      if (state === "lost") this.outages++
      changed()
    }
    try {
      for await (const _ of hub.changes({ signal, onConnection })) {
        this.hints++
        changed()
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }
}

const openPage = async (
  hub: HubConnection,
  placement: HubPlacement,
  work: AgentWork
): Promise<FaultConversation> => {
  const feed = new PageFeed(hub)
  const reader: HubReader = {
    hub,
    wait: (look, what) => feed.wait(look, what),
    events: ({ runId, signal }) => hub.runEvents(runId, { signal })
  }
  const conversation = await HubConversation.begin(reader, placement, work)
  conversation.onClose = () => feed.stop()
  conversation.outages = () => feed.outages
  return conversation
}

/** `token`: of a sign-in in a browser. */
export const consoleSurface = (url: string, token: string, placement: HubPlacement): FaultSurface => {
  const hub = hubClient({
    url,
    headers: (method) => ({
      cookie: `${SESSION_COOKIE}=${token}`,
      ...(method === "GET" ? {} : { origin: url, [CSRF_HEADER]: csrfOf(token) })
    })
  })
  return { begin: (work) => openPage(hub, placement, work) }
}
