/** The Hub's API as a program uses it: the client library with a token. It polls, and follows a session over a WebSocket. */
import { hubClient } from "@corral/client/Hub"
import { CorralError } from "@corral/client/http/CorralError"
import { until } from "@corral/testing/time/Until"
import type { FaultSurface } from "./FaultProduct.ts"
import { HubConversation, type HubPlacement, type HubReader } from "./HubConversation.ts"

export const apiSurface = (url: string, token: string, placement: HubPlacement): FaultSurface => {
  const hub = hubClient({ url, token })
  const reader: HubReader = {
    hub,
    wait: (look, what) =>
      until(
        () =>
          look().catch((error: unknown) => {
            if (error instanceof CorralError && error.isTransient) return undefined
            throw error
          }),
        what,
        60_000
      ),
    events: ({ sessionId, signal }) => hub.sessionEvents(sessionId, { signal })
  }
  return { begin: (work) => HubConversation.begin(reader, placement, work) }
}
