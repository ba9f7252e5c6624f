/**
 * Idempotency keys of the Edge: the result of a write is stored for 24 hours under its key and returned again to the same request.
 *
 * Guarantees: the stored result is part of the write's commit. A crash leaves both or neither.
 */
import { IdempotencyConflict, IdempotencyInFlight } from "@corral/domain/errors/Failures"
import { fingerprintOf } from "@corral/service/http/IdempotentRequest"
import { Clock, Context, Effect, Layer } from "effect"
import { Store, type StoreFailed, type Write } from "../store/Store.ts"
import { parseStored } from "../store/StoreDamage.ts"

export interface IdempotentResult<A> {
  readonly body: A
  readonly replayed: boolean
}

/** Makes the row that keeps the answer; `undefined` where the request had no key. */
export type ResultRows<A> = (body: A) => ReadonlyArray<Write>

export interface EdgeKeyedRequest {
  /** Principal, method and path. */
  readonly scope: string
  readonly key: string | undefined
  /** What the key is bound to: the decoded body. */
  readonly request: unknown
}

export class EdgeIdempotency extends Context.Service<
  EdgeIdempotency,
  {
    /** Runs `write` unless its answer is known. `write` commits the rows of `keep` together with its own. */
    readonly once: <A, E, R>(
      request: EdgeKeyedRequest,
      write: (keep: ResultRows<A>) => Effect.Effect<A, E, R>
    ) => Effect.Effect<IdempotentResult<A>, E | IdempotencyConflict | IdempotencyInFlight, R>
  }
>()("corral/edge/Idempotency") {
  static readonly layer = Layer.effect(
    EdgeIdempotency,
    Effect.gen(function* () {
      const store = yield* Store
      const clock = yield* Clock.Clock
      const inFlight = new Set<string>()
      const storedResult = <A>(scope: string, key: string, fingerprint: string) =>
        Effect.suspend((): Effect.Effect<IdempotentResult<A> | undefined, IdempotencyConflict> => {
          const row = store.get<Row>(
            "SELECT fingerprint, body FROM idempotency WHERE scope = ? AND key = ? AND created_at > ?",
            scope,
            key,
            clock.currentTimeMillisUnsafe() - RETENTION_MS
          )
          if (row === undefined) return Effect.undefined
          if (row.fingerprint !== fingerprint) return Effect.fail(new IdempotencyConflict())
          // Written by `keep` of the same scope.
          return Effect.succeed({ body: parseStored<A>(row.body, "answer"), replayed: true })
        })

      return EdgeIdempotency.of({
        once: <A, E, R>(
          { scope, key, request }: EdgeKeyedRequest,
          write: (keep: ResultRows<A>) => Effect.Effect<A, E, R>
        ) => {
          if (key === undefined)
            return Effect.map(
              write(() => []),
              (body) => ({ body, replayed: false })
            )
          const fingerprint = fingerprintOf(request)
          const flight = `${scope}\n${key}`
          const fly = storedResult<A>(scope, key, fingerprint).pipe(
            Effect.flatMap((answer) =>
              answer !== undefined
                ? Effect.succeed(answer)
                : Effect.map(
                    write((body) => [
                      keepRow(scope, key, fingerprint, body, clock.currentTimeMillisUnsafe())
                    ]),
                    (body) => ({ body, replayed: false })
                  )
            )
          )
          return Effect.suspend(
            (): Effect.Effect<IdempotentResult<A>, E | IdempotencyConflict | IdempotencyInFlight, R> => {
              if (inFlight.has(flight)) return Effect.fail(new IdempotencyInFlight())
              inFlight.add(flight)
              return Effect.ensuring(
                fly,
                Effect.sync(() => inFlight.delete(flight))
              )
            }
          )
        }
      })
    })
  )
}

interface Row {
  readonly fingerprint: string
  readonly body: string
}

const RETENTION_MS = 86_400_000

const keepRow = (scope: string, key: string, fingerprint: string, body: unknown, now: number): Write => [
  "INSERT OR REPLACE INTO idempotency (scope, key, fingerprint, body, created_at) VALUES (?, ?, ?, ?, ?)",
  scope,
  key,
  fingerprint,
  JSON.stringify(body),
  now
]

/** Forgets what is older than 24 hours, a few at a time: other commits come in between. */
export const deleteExpiredResults = Effect.fnUntraced(function* (
  store: Store["Service"],
  now: number
): Effect.fn.Return<void, StoreFailed> {
  const until = now - RETENTION_MS
  while (store.get("SELECT 1 FROM idempotency WHERE created_at <= ?", until) !== undefined) {
    yield* store.commit([
      [
        "DELETE FROM idempotency WHERE (scope, key) IN (SELECT scope, key FROM idempotency WHERE created_at <= ? LIMIT 200)",
        until
      ]
    ])
  }
})
