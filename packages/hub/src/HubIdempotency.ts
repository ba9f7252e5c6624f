/**
 * Idempotency keys: the response to a write is stored for 24 hours under its key and returned to repetitions of the same request.
 *
 * Guarantees: a write and its stored response are one transaction under a lock that every Hub respects. A Hub that crashes leaves neither. A
 * concurrent request with the same key fails as `idempotency_in_flight`. A failed write stores no response and may be repeated.
 */
import { IdempotencyConflict, IdempotencyInFlight } from "@corral/domain/errors/Failures"
import { fingerprintOf } from "@corral/service/http/IdempotentRequest"
import { Clock, Context, Effect, Layer, Option, Result, Schema } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { createHash } from "node:crypto"
import { plannedTransaction } from "./store/Database.ts"
import { jsonColumn, storedDecoder, storedRows } from "./store/StoredRows.ts"

const idempotencyRows = storedRows(
  "idempotency",
  Schema.Struct({ fingerprint: Schema.String, body: Schema.String })
)

const keyRows = storedRows("idempotency", Schema.Struct({ key: Schema.String, body: Schema.String }))
const decodeResource = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({ id: Schema.String })))

/** Whether the advisory lock of a key was free. */
const keyLockRows = storedRows("pg_locks", Schema.Struct({ taken: Schema.Boolean }))

export interface IdempotentAnswer<A> {
  readonly body: A
  readonly replayed: boolean
}

export interface IdempotentRequest<A> {
  /** Principal, method and path. */
  readonly scope: string
  readonly key: string | undefined
  /** The decoded body, to which the key is bound. */
  readonly request: unknown
  /** Schema of the response, for one that is stored. */
  readonly response: Schema.ConstraintDecoder<A>
}

type KeyFailure = IdempotencyConflict | IdempotencyInFlight | SqlError.SqlError

export class HubIdempotency extends Context.Service<
  HubIdempotency,
  {
    /**
     * Runs `write` in a transaction unless its response is stored. A `write` that fails must have rolled itself back, as `Audit.perform` does:
     * the rest of the transaction, the record of the failure, is committed.
     */
    readonly runOnce: <A, E, R>(
      request: IdempotentRequest<A>,
      write: Effect.Effect<A, E, R>
    ) => Effect.Effect<IdempotentAnswer<A>, E | KeyFailure, R>
    /**
     * `runOnce` for a write on an Edge, which runs outside a transaction. The key is stored before the write, so the write is not repeated even if
     * this Hub crashes. A failure means that nothing was written, and releases the key. After a failure with an unknown outcome (`isUnknown`) the
     * key stays in flight. A later request may take it over and must then run the same `write`.
     */
    readonly runOnceRemotely: <A, E, R>(
      request: IdempotentRequest<A>,
      write: Effect.Effect<A, E, R>,
      isUnknown?: (error: E) => boolean
    ) => Effect.Effect<IdempotentAnswer<A>, E | KeyFailure, R>
    /** The stored response, for a write that can't wait inside a transaction and is safe to repeat. */
    readonly findAnswer: <A>(
      request: IdempotentRequest<A>
    ) => Effect.Effect<A | undefined, IdempotencyConflict | SqlError.SqlError>
    /** The newest keys of a scope whose responses are stored, by the ids of the resources that the responses have. */
    readonly keysOf: (scope: string) => Effect.Effect<ReadonlyMap<string, string>, SqlError.SqlError>
    /** Deletes responses that are older than 24 hours. */
    readonly deleteExpired: Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/hub/Idempotency") {
  static readonly layer = Layer.effect(
    HubIdempotency,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      /** The time that many milliseconds ago. */
      const before = (ms: number) => new Date(clock.currentTimeMillisUnsafe() - ms)
      const sql = yield* SqlClient.SqlClient

      const findBody = Effect.fnUntraced(function* ({ fingerprint, key, scope }: BoundKey<unknown>) {
        const row = yield* idempotencyRows.first(sql`
          SELECT fingerprint, body FROM idempotency
          WHERE scope = ${scope} AND key = ${key} AND created_at > ${before(RETENTION_MS)}`)
        if (row !== undefined && row.fingerprint !== fingerprint) return yield* new IdempotencyConflict()
        return row?.body
      })

      /** Inserts the key with its body, or replaces an expired one. */
      const upsert = ({ fingerprint, key, scope }: BoundKey<unknown>, body: string) => sql`
        INSERT INTO idempotency ${sql.insert({ scope, key, fingerprint, body, created_at: before(0) })}
        ON CONFLICT (scope, key) DO UPDATE
        SET fingerprint = excluded.fingerprint, body = excluded.body, created_at = excluded.created_at`

      const runInTransaction = <A, E, R>(
        bound: BoundKey<A>,
        write: Effect.Effect<A, E, R>
      ): Effect.Effect<IdempotentAnswer<A>, E | KeyFailure, R> => {
        const attempt = plannedTransaction(sql)(
          Effect.gen(function* () {
            const lock = yield* keyLockRows.first(
              sql`SELECT pg_try_advisory_xact_lock(${LOCK_CLASS}::int, ${lockOf(bound)}::int) AS taken`
            )
            if (lock?.taken !== true) return yield* new IdempotencyInFlight()
            const stored = yield* findBody(bound)
            if (stored !== undefined)
              return Result.succeed({ body: yield* decodeBody(bound.response, stored), replayed: true })
            const written = yield* Effect.result(write)
            if (Result.isFailure(written)) {
              const { failure } = written
              // A failed statement has ended the transaction. Other failures are values: they would roll back the record that `write` left.
              return failure instanceof SqlError.SqlError ? yield* Effect.fail(failure) : Result.fail(failure)
            }
            yield* upsert(bound, JSON.stringify(written.success))
            return Result.succeed({ body: written.success, replayed: false })
          })
        )
        return Effect.flatMap(attempt, (result) => Effect.fromResult(result))
      }

      const runOutside = Effect.fn("HubIdempotency.runOnceRemotely")(function* <A, E, R>(
        bound: BoundKey<A>,
        write: Effect.Effect<A, E, R>,
        isUnknown: (error: E) => boolean
      ) {
        const isKey = sql`scope = ${bound.scope} AND key = ${bound.key}`
        const taken = yield* sql`
          ${upsert(bound, IN_PROGRESS)}
          WHERE idempotency.created_at <= ${before(RETENTION_MS)} OR (
            idempotency.body = ${IN_PROGRESS} AND idempotency.fingerprint = excluded.fingerprint
            AND idempotency.created_at <= ${before(ABANDONED_MS)}
          )
          RETURNING key`
        if (taken.length === 0) {
          const stored = yield* findBody(bound)
          if (stored === undefined || stored === IN_PROGRESS) return yield* new IdempotencyInFlight()
          return { body: yield* decodeBody(bound.response, stored), replayed: true }
        }
        const body = yield* Effect.tapError(write, (error) =>
          // A statement may have failed after the Edge had executed the write.
          error instanceof SqlError.SqlError || isUnknown(error)
            ? Effect.void
            : Effect.asVoid(sql`DELETE FROM idempotency WHERE ${isKey}`)
        )
        yield* sql`UPDATE idempotency SET body = ${JSON.stringify(body)} WHERE ${isKey}`
        return { body, replayed: false }
      })

      return HubIdempotency.of({
        runOnce: (request, write) => {
          const bound = bind(request)
          return bound === undefined
            ? withoutKey(write)
            : Effect.withSpan(runInTransaction(bound, write), "HubIdempotency.runOnce")
        },
        runOnceRemotely: (request, write, isUnknown = () => false) => {
          const bound = bind(request)
          return bound === undefined ? withoutKey(write) : runOutside(bound, write, isUnknown)
        },
        findAnswer: Effect.fn("HubIdempotency.findAnswer")(function* <A>(request: IdempotentRequest<A>) {
          const bound = bind(request)
          const body = bound && (yield* findBody(bound))
          return body === undefined ? undefined : yield* decodeBody(request.response, body)
        }),
        keysOf: Effect.fnUntraced(function* (scope) {
          const rows = yield* keyRows.all(sql`
            SELECT key, body FROM idempotency WHERE scope = ${scope} AND created_at > ${before(RETENTION_MS)}
            ORDER BY created_at DESC LIMIT ${MAX_KEYS}`)
          return new Map(
            rows.flatMap(({ body, key }) => {
              const resource = Option.getOrUndefined(decodeResource(body))
              return resource === undefined ? [] : [[resource.id, key] as const]
            })
          )
        }),
        deleteExpired: Effect.suspend(
          () => sql`DELETE FROM idempotency WHERE created_at <= ${before(RETENTION_MS)}`
        ).pipe(Effect.asVoid, Effect.withSpan("HubIdempotency.deleteExpired"))
      })
    })
  )
}

/** A key with the fingerprint of its request. */
interface BoundKey<A> {
  readonly scope: string
  readonly key: string
  readonly fingerprint: string
  readonly response: Schema.ConstraintDecoder<A>
}

/** Body of a remote write that has begun. Not JSON, so it differs from every response. */
const IN_PROGRESS = ""

/** Time after which a remote write counts as abandoned. Longer than the wait for an Edge. */
const ABANDONED_MS = 45_000
const RETENTION_MS = 86_400_000
/** Keys of one scope that are looked at. */
const MAX_KEYS = 500
/** First half of this project's advisory locks. */
const LOCK_CLASS = 0x1de8

const bind = <A>({ key, request, response, scope }: IdempotentRequest<A>): BoundKey<A> | undefined =>
  key === undefined ? undefined : { scope, key, fingerprint: fingerprintOf(request), response }

const withoutKey = <A, E, R>(write: Effect.Effect<A, E, R>): Effect.Effect<IdempotentAnswer<A>, E, R> =>
  Effect.map(write, (body) => ({ body, replayed: false }))

/** Decodes a stored response. Compiled for each call: repeated requests are rare. */
const decodeBody = <A>(response: Schema.ConstraintDecoder<A>, body: string): Effect.Effect<A> =>
  Effect.sync(
    () => storedDecoder("idempotency", Schema.Struct({ body: jsonColumn(response) }))({ body }).body
  )

/** Two keys with the same hash wait for each other; nothing else happens. */
const lockOf = ({ key, scope }: BoundKey<unknown>): number =>
  createHash("sha256").update(`${scope}\n${key}`).digest().readInt32BE(0)
