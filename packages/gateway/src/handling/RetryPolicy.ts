/**
 * When a failed event is retried, and when its sender is sent a notice instead. Pure.
 *
 * The two minutes count from the first failure since the sender's last success: an event that waited behind a failing one has waited too.
 */
import type { ClaimedEvent } from "../inbox/ClaimedEvents.ts"

/** Between the first failure and the notice, in milliseconds. */
export const PATIENCE_MS = 120_000
const FIRST_DELAY_MS = 1_000
const LONGEST_DELAY_MS = 30_000

/** When this event, which fails now or began now, is given up. */
export const deadlineOf = (
  { failingSince, inbound }: Pick<ClaimedEvent, "failingSince" | "inbound">,
  beganAt: number,
  patienceMs = PATIENCE_MS
): number => (failingSince === undefined ? beganAt : Math.max(failingSince, inbound.receivedAt)) + patienceMs

/** When to retry after `failures` earlier failures; undefined: give up. The last attempt is at the deadline. */
export const nextAttempt = (
  failures: number,
  now: number,
  deadline: number,
  retryAfterMs = 0
): number | undefined => {
  if (now >= deadline || now + retryAfterMs > deadline) return undefined
  const delay = Math.min(FIRST_DELAY_MS * 2 ** failures, LONGEST_DELAY_MS)
  return Math.min(now + Math.max(delay, retryAfterMs), deadline)
}
