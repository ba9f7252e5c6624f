/** Dead letters: failed events that are not retried. Their senders are sent a notice, up to `NOTICES_PER_HOUR`. */
import type { TimedStore } from "../store/TimedStore.ts"
import type { ClaimedEvent } from "./ClaimedEvents.ts"

/** Per sender and chat. */
const NOTICES_PER_HOUR = 10
const HOUR_MS = 3_600_000

/** Copies an event to the dead letters. `reason` repeats nothing of the event. */
export const moveToDeadLetters = (
  { at, sql }: TimedStore,
  { arrival, attempts, inbound }: ClaimedEvent,
  reason: string
) =>
  sql`
  INSERT INTO dead_letters (platform, app, upstream_id, tenant, kind, chat_id, sender, card, body, reason, attempts,
    received_at, buried_at, tell_at)
  SELECT platform, app, upstream_id, tenant, kind, chat_id, sender, card, body, ${reason}, ${attempts}::int,
    received_at, ${at()}::timestamptz,
    CASE WHEN (
      SELECT count(*) FROM dead_letters d
      WHERE d.platform = ${inbound.platform} AND d.app = ${inbound.app} AND d.tenant = ${inbound.tenant}
        AND d.sender = ${inbound.senderId} AND d.chat_id = inbox.chat_id AND d.buried_at > ${at(-HOUR_MS)}
    ) < ${NOTICES_PER_HOUR} THEN ${at()}::timestamptz END
  FROM inbox WHERE arrival = ${arrival}
  ON CONFLICT DO NOTHING`
