/**
 * Pending notices about failed events: the sender of an event in the dead letters receives one notice, after an outage of the platform too.
 *
 * Does not: choose the words, or limit the notices per sender. Both are decided when the event moves to the dead letters.
 */
import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Inbound, InboundKind, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { eventKeyOf } from "./Stamp.ts"

/** Sends a notice. A notice that the platform refuses permanently counts as sent. */
export type SendNotice = (inbound: Inbound) => Effect.Effect<void, PlatformUnavailable>

const POLL = "1 second"
const AT_ONCE = 8
/** While a notice is being sent, no other Gateway sends it. */
const SENDING_MS = 60_000
/** Maximum age of a notice. Older ones are of no use to the sender. */
const LONGEST_MS = 24 * 3_600_000

interface Row extends Omit<Inbound, "receivedAt" | "kind"> {
  readonly kind: InboundKind
  readonly receivedAt: Date
}

export const noticesLayer = (tell: SendNotice) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const at = (millis = 0) => new Date(clock.currentTimeMillisUnsafe() + millis)

      const claim = Effect.suspend(
        () => sql<Row>`
          UPDATE dead_letters SET tell_at = ${at(SENDING_MS)} WHERE (platform, app, upstream_id) IN (
            SELECT platform, app, upstream_id FROM dead_letters WHERE tell_at <= ${at()}
            ORDER BY tell_at LIMIT ${AT_ONCE} FOR UPDATE SKIP LOCKED
          ) RETURNING platform, app, tenant, upstream_id AS "upstreamId", kind, chat_id AS "chatId", sender AS "senderId",
            coalesce(card, '') AS "cardId", body, received_at AS "receivedAt"`
      )
      /** Retries come after a second at first, later after a quarter of the notice's age, at most a minute. */
      const settle = ({ app, platform, upstreamId }: Inbound, outcome: "sent" | "failed") => {
        const now = sql`${at()}::timestamptz`
        return Effect.asVoid(sql`
          UPDATE dead_letters SET tell_at =
            CASE WHEN ${outcome} = 'failed' AND buried_at > ${at(-LONGEST_MS)} THEN
              ${now} + least(greatest((${now} - buried_at) / 4, interval '1 second'), interval '1 minute') END
          WHERE platform = ${platform} AND app = ${app} AND upstream_id = ${upstreamId}`)
      }

      const send = (inbound: Inbound) =>
        tell(inbound).pipe(
          Effect.timeout(SENDING_MS / 2),
          Effect.matchCauseEffect({
            onSuccess: () => settle(inbound, "sent"),
            onFailure: (cause) =>
              Effect.andThen(
                Effect.logWarning("failed to send a notice", { event: eventKeyOf(inbound) }, cause),
                settle(inbound, "failed")
              )
          })
        )
      const round = Effect.gen(function* () {
        const owed = (yield* claim).map((row) => ({ ...row, receivedAt: row.receivedAt.getTime() }))
        yield* Effect.forEach(owed, send, { concurrency: AT_ONCE, discard: true })
        return owed.length
      }).pipe(
        Effect.catchCause((cause) => Effect.as(Effect.logWarning("failed to read owed notices", cause), 0))
      )
      yield* Effect.forkScoped(
        Effect.forever(Effect.flatMap(round, (sent) => (sent === 0 ? Effect.sleep(POLL) : Effect.void)))
      )
    })
  )
