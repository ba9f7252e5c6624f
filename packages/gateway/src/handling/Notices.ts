/**
 * Pending notices about failed events: the sender of an event in the dead letters receives one notice, after an outage of the platform too.
 *
 * Does not: choose the words, or limit the notices per sender. Both are decided when the event moves to the dead letters.
 */
import { Effect, Layer, Schema } from "effect"
import { inboundOfRow, InboxRow } from "../inbox/SenderQueues.ts"
import type { Inbound, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { type TimedStore, queryRows, timedStore } from "../store/RowQueries.ts"
import { eventKeyOf } from "./Handler.ts"

/** Sends a notice. A notice that the platform refuses permanently counts as sent. */
export type SendNotice = (inbound: Inbound) => Effect.Effect<void, PlatformUnavailable>

const POLL = "1 second"
const CONCURRENCY = 8
/** While a notice is being sent, no other Gateway sends it. */
const SENDING_MS = 60_000
/** Maximum age of a notice. Older ones are of no use to the sender. */
const LONGEST_MS = 24 * 3_600_000

/** Statement that claims notices to send, and returns their events. */
export const makeClaimNotices = ({ at, sql }: TimedStore) =>
  queryRows({
    Request: Schema.Void,
    Result: InboxRow,
    execute: () => sql`
      UPDATE dead_letters SET tell_at = ${at(SENDING_MS)} WHERE (platform, app, upstream_id) IN (
        SELECT platform, app, upstream_id FROM dead_letters WHERE tell_at <= ${at()}
        ORDER BY tell_at LIMIT ${CONCURRENCY} FOR UPDATE SKIP LOCKED
      ) RETURNING platform, app, tenant, upstream_id AS "upstreamId", kind, chat_id AS "chatId", sender AS "senderId",
        coalesce(card, '') AS "cardId", body, received_at AS "receivedAt"`
  })

export const noticesLayer = (sendNotice: SendNotice) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const store = yield* timedStore
      const { at, sql } = store
      const claim = makeClaimNotices(store)
      /** The delay before a retry is a quarter of the notice's age: at least a second, at most a minute. */
      const saveOutcome = ({ app, platform, upstreamId }: Inbound, outcome: "sent" | "failed") => {
        const now = sql`${at()}::timestamptz`
        return Effect.asVoid(sql`
          UPDATE dead_letters SET tell_at =
            CASE WHEN ${outcome} = 'failed' AND buried_at > ${at(-LONGEST_MS)} THEN
              ${now} + least(greatest((${now} - buried_at) / 4, interval '1 second'), interval '1 minute') END
          WHERE platform = ${platform} AND app = ${app} AND upstream_id = ${upstreamId}`)
      }

      const send = (inbound: Inbound) =>
        sendNotice(inbound).pipe(
          Effect.timeout(SENDING_MS / 2),
          Effect.matchCauseEffect({
            onSuccess: () => saveOutcome(inbound, "sent"),
            onFailure: (cause) =>
              Effect.andThen(
                Effect.logWarning("failed to send a notice", { event: eventKeyOf(inbound) }, cause),
                saveOutcome(inbound, "failed")
              )
          })
        )
      const round = Effect.gen(function* () {
        const claimed = yield* claim()
        yield* Effect.forEach(claimed.map(inboundOfRow), send, { concurrency: CONCURRENCY, discard: true })
        return claimed.length
      }).pipe(
        Effect.catchCause((cause) => Effect.as(Effect.logWarning("failed to read owed notices", cause), 0))
      )
      yield* Effect.forkScoped(
        Effect.forever(Effect.flatMap(round, (sent) => (sent === 0 ? Effect.sleep(POLL) : Effect.void)))
      )
    })
  )
