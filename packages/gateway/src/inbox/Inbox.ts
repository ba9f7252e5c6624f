/**
 * Durable inbox of received events. An event is stored once, by the platform's id, in one transaction with its place in its sender's
 * queue. It is recognized for a week after it is done; its body is deleted when it is done.
 *
 * Does not: handle events. `SenderQueues` and the workers do.
 */
import { probeWrites } from "@corral/service/DatabaseProbe"
import { Context, Data, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import type { Inbound } from "../platform/ChatPlatform.ts"
import { timedStore, type TimedStore } from "../store/TimedStore.ts"
import { groupCommit } from "./GroupCommit.ts"
import { makeInsertEvents } from "./InsertEvents.ts"
import { SenderQueues } from "./SenderQueues.ts"

const DAY_MS = 24 * 3_600_000
const RETENTION_MS = 7 * DAY_MS
/** Time for operators to read dead letters. */
const DEAD_LETTERS_MS = 30 * DAY_MS
const BATCH = 1_000

/** Events per transaction. */
const GROUP = 2_000
/** Platforms wait up to 3 seconds for the answer. */
const TIMEOUT = "2 seconds"

/** The store took longer than any platform waits. */
export class StoreSlow extends Data.TaggedError("StoreSlow") {}

export class Inbox extends Context.Service<
  Inbox,
  {
    /** Stores an event durably. False if it was stored before. */
    readonly store: (inbound: Inbound) => Effect.Effect<boolean, SqlError.SqlError | StoreSlow>
    /** Deletes events that were done a week ago, and dead letters after a month. */
    readonly deleteOld: Effect.Effect<void, SqlError.SqlError>
    /** Fails if no event can be stored. */
    readonly probe: Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/gateway/Inbox") {
  static readonly layer = Layer.effect(
    Inbox,
    Effect.gen(function* () {
      const store = yield* timedStore
      const queues = yield* SenderQueues
      const { at, sql } = store
      const insertEvents = makeInsertEvents(store)
      const storeEvent = yield* groupCommit(GROUP, (inbounds: ReadonlyArray<Inbound>) =>
        sql.withTransaction(insertEvents(inbounds)).pipe(
          Effect.timeoutOrElse({ duration: TIMEOUT, orElse: () => Effect.fail(new StoreSlow()) }),
          Effect.tap(() => queues.wake)
        )
      )
      return Inbox.of({
        store: storeEvent,
        deleteOld: Effect.all(
          [
            deleteOlder(store, "inbox", "done_at", RETENTION_MS),
            deleteOlder(store, "dead_letters", "buried_at", DEAD_LETTERS_MS),
            Effect.suspend(
              () => sql`DELETE FROM sender_queues WHERE head IS NULL AND due_at < ${at(-RETENTION_MS)}`
            )
          ],
          { discard: true }
        ),
        // Another session can hold the inbox while the server takes writes.
        probe: Effect.andThen(probeWrites(sql), sql`SELECT 1 FROM inbox LIMIT 1 FOR UPDATE SKIP LOCKED`).pipe(
          Effect.asVoid
        )
      })
    })
  )
}

/** Deletes in batches, so that no statement locks many rows. */
const deleteOlder = (
  { at, sql }: TimedStore,
  table: "inbox" | "dead_letters",
  column: "done_at" | "buried_at",
  ageMs: number
) =>
  Effect.suspend(
    () => sql`
      DELETE FROM ${sql(table)} WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ${sql(table)} WHERE ${sql(column)} < ${at(-ageMs)} LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
      )) RETURNING 1`
  ).pipe(Effect.repeat({ until: (rows) => rows.length < BATCH }), Effect.asVoid)
