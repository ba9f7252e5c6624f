/** What happens to a message that no agent has yet. Pure. */
import type { Message } from "@corral/domain/session/Message"

/**
 * `next`: it is the first to its agent. `waits`: its device is offline. `sending`: nothing is before it. `held`: after a stop or an error, until a
 * user continues.
 */
export type QueueState = "failed" | "held" | "waits" | "sending" | "next" | "queued"

interface Facts {
  /** Whether the device of its agent is offline. */
  readonly isOffline: boolean
  /** Whether the session has a run in progress. */
  readonly isBusy: boolean
}

/** `queue`: pending and failed messages of the session, oldest first. */
export const queueState = (
  message: Message,
  queue: ReadonlyArray<Message>,
  { isBusy, isOffline }: Facts
): QueueState => {
  if (message.delivery?.state === "failed") return "failed"
  if (message.delivery?.held === true) return "held"
  if (message.when === "now") return "sending"
  if (isOffline) return "waits"
  const first = queue.find(
    ({ delivery, to, when }) =>
      to === message.to && when !== "now" && delivery?.state === "pending" && delivery.held !== true
  )
  if (first?.id !== message.id) return "queued"
  return isBusy ? "next" : "sending"
}
