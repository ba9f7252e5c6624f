/**
 * Times of retries of a failed event, until its sender receives a notice. Pure.
 *
 * The time limit starts with the first failure since the sender's last success. An event that waited behind a failing one has waited too.
 */
import type { ClaimedEvent } from "../inbox/SenderQueues.ts"

/** Time between the first failure and the notice. */
export const PATIENCE_MS = 120_000
const FIRST_DELAY_MS = 1_000
const MAX_DELAY_MS = 30_000

/** Time after which an event that began now is not retried. */
export const deadlineOf = (
  { failingSince, inbound }: Pick<ClaimedEvent, "failingSince" | "inbound">,
  beganAt: number,
  patienceMs = PATIENCE_MS
): number => (failingSince === undefined ? beganAt : Math.max(failingSince, inbound.receivedAt)) + patienceMs

/** Time of the next attempt; undefined if there is none. The last attempt is at the deadline. */
export const nextAttempt = (
  failures: number,
  now: number,
  deadline: number,
  retryAfterMs = 0
): number | undefined => {
  if (now >= deadline || now + retryAfterMs > deadline) return undefined
  const delay = Math.min(FIRST_DELAY_MS * 2 ** failures, MAX_DELAY_MS)
  return Math.min(now + Math.max(delay, retryAfterMs), deadline)
}
