/**
 * Idempotency keys: the answer to a write is kept for 24 hours under its key and given again to the same request.
 *
 * The write and its kept answer are one transaction, under a lock that every Hub sees: a Hub that dies in the middle leaves neither, and
 * a second request meanwhile is told that the first is in flight. A write that fails has no kept answer: it may be tried again.
 */
import { IdempotencyConflict, IdempotencyInFlight } from "@corral/domain/errors/Failures"
import { fingerprintOf } from "@corral/service/Fingerprint"
import { Clock, Context, Effect, Layer, Result } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { createHash } from "node:crypto"

export interface IdempotentAnswer<A> {
  readonly body: A
  readonly replayed: boolean
}

export interface IdempotentRequest {
  /** Principal, method and path. */
  readonly scope: string
  readonly key: string | undefined
  /** What the key is bound to: the decoded body. */
  readonly request: unknown
}

export class HubIdempotency extends Context.Service<
  HubIdempotency,
  {
    /**
     * Runs `write` in a transaction unless its answer is known. Where it fails it must have taken back what it did, as `Audit.done` does:
     * what is left, the record of the failure, is kept.
     */
    readonly runOnce: <A, E, R>(
      request: IdempotentRequest,
      write: Effect.Effect<A, E, R>
    ) => Effect.Effect<
      IdempotentAnswer<A>,
      E | IdempotencyConflict | IdempotencyInFlight | SqlError.SqlError,
      R
    >
    /**
     * As `once`, for a write that happens somewhere else and is waited for outside of a transaction. Its key is taken before it begins: it
     * is not done twice, whatever becomes of this Hub. A failure says that it was not done, and gives the key back; where nobody knows
     * (`isUnknown`), the key stays in flight, and may be asked with again when nobody waits for the first any more: `write` must be the same
     * one then.
     */
    readonly runOnceRemotely: <A, E, R>(
      request: IdempotentRequest,
      write: Effect.Effect<A, E, R>,
      isUnknown?: (error: E) => boolean
    ) => Effect.Effect<
      IdempotentAnswer<A>,
      E | IdempotencyConflict | IdempotencyInFlight | SqlError.SqlError,
      R
    >
    /** The answer that is known, for a write that must not wait inside a transaction: it may be done twice, and must bear that. */
    readonly findAnswer: <A>(
      request: IdempotentRequest
    ) => Effect.Effect<A | undefined, IdempotencyConflict | SqlError.SqlError>
    /** Forgets what is older than 24 hours. */
    readonly deleteExpired: Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/hub/Idempotency") {
  static readonly layer = Layer.effect(
    HubIdempotency,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const oldest = () => new Date(clock.currentTimeMillisUnsafe() - KEPT_MS)
      const left = () => new Date(clock.currentTimeMillisUnsafe() - LEFT_AFTER_MS)

      const known = Effect.fnUntraced(function* (scope: string, key: string, fingerprint: string) {
        const [row] = yield* sql<Row>`
          SELECT fingerprint, body FROM idempotency
          WHERE scope = ${scope} AND key = ${key} AND created_at > ${oldest()}`
        if (row !== undefined && row.fingerprint !== fingerprint) return yield* new IdempotencyConflict()
        return row?.body
      })

      return HubIdempotency.of({
        runOnce: <A, E, R>({ key, request, scope }: IdempotentRequest, write: Effect.Effect<A, E, R>) => {
          if (key === undefined) return Effect.map(write, (body) => ({ body, replayed: false }))
          const fingerprint = fingerprintOf(request)
          const attempt = sql.withTransaction(
            Effect.gen(function* () {
              const lock = lockOf(scope, key)
              const [taken] = yield* sql<{ readonly taken: boolean }>`
                SELECT pg_try_advisory_xact_lock(${LOCKS}::int, ${lock}::int) AS taken`
              if (taken?.taken !== true) return yield* new IdempotencyInFlight()
              const kept = yield* known(scope, key, fingerprint)
              // Written below, by a request of the same scope.
              if (kept !== undefined) return Result.succeed({ body: JSON.parse(kept) as A, replayed: true })
              const written = yield* Effect.result(write)
              if (Result.isFailure(written)) return Result.fail(written.failure)
              const body = written.success
              const row = {
                scope,
                key,
                fingerprint,
                body: JSON.stringify(body),
                created_at: new Date(clock.currentTimeMillisUnsafe())
              }
              yield* sql`
                INSERT INTO idempotency ${sql.insert(row)}
                ON CONFLICT (scope, key) DO UPDATE
                SET fingerprint = excluded.fingerprint, body = excluded.body, created_at = excluded.created_at`
              return Result.succeed({ body, replayed: false })
            })
          )
          return Effect.flatMap(attempt, (result) => Effect.fromResult(result))
        },
        runOnceRemotely: <A, E, R>(
          { key, request, scope }: IdempotentRequest,
          write: Effect.Effect<A, E, R>,
          isUnknown: (error: E) => boolean = () => false
        ) => {
          if (key === undefined) return Effect.map(write, (body) => ({ body, replayed: false }))
          const fingerprint = fingerprintOf(request)
          const here = sql`scope = ${scope} AND key = ${key}`
          const givenBack = Effect.asVoid(sql`DELETE FROM idempotency WHERE ${here}`)
          const taken = sql`
            INSERT INTO idempotency ${sql.insert({ scope, key, fingerprint, body: BEGUN, created_at: new Date(clock.currentTimeMillisUnsafe()) })}
            ON CONFLICT (scope, key) DO UPDATE
            SET fingerprint = excluded.fingerprint, body = excluded.body, created_at = excluded.created_at
            WHERE idempotency.created_at <= ${oldest()} OR (
              idempotency.body = ${BEGUN} AND idempotency.fingerprint = excluded.fingerprint AND idempotency.created_at <= ${left()}
            )
            RETURNING key`
          return Effect.gen(function* () {
            if ((yield* taken).length === 0) {
              const kept = yield* known(scope, key, fingerprint)
              if (kept === undefined || kept === BEGUN) return yield* new IdempotencyInFlight()
              // Written below, by a request of the same scope.
              return { body: JSON.parse(kept) as A, replayed: true }
            }
            const body = yield* Effect.tapError(write, (error) =>
              // A statement that failed may have come after the deed.
              error instanceof SqlError.SqlError || isUnknown(error) ? Effect.void : givenBack
            )
            yield* sql`UPDATE idempotency SET body = ${JSON.stringify(body)} WHERE ${here}`
            return { body, replayed: false }
          })
        },
        findAnswer: <A>({ key, request, scope }: IdempotentRequest) =>
          key === undefined
            ? Effect.undefined
            : Effect.map(known(scope, key, fingerprintOf(request)), (body) =>
                // Written by `once`, by a request of the same scope.
                body === undefined ? undefined : (JSON.parse(body) as A)
              ),
        deleteExpired: Effect.suspend(
          () => sql`DELETE FROM idempotency WHERE created_at <= ${oldest()}`
        ).pipe(Effect.asVoid)
      })
    })
  )
}

interface Row {
  readonly fingerprint: string
  readonly body: string
}

/** What stands for an answer while it is not known: no JSON. */
const BEGUN = ""

/** Whoever began something elsewhere does not wait longer for it. */
const LEFT_AFTER_MS = 45_000
const KEPT_MS = 86_400_000
/** The family of our advisory locks. */
const LOCKS = 0x1de8

/** Two keys that meet here wait for each other, and nothing worse. */
const lockOf = (scope: string, key: string): number =>
  createHash("sha256").update(`${scope}\n${key}`).digest().readInt32BE(0)
