/**
 * Attempts to sign in at the identity provider: each tied to the browser that began it, good for ten minutes and for one use.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { createHash } from "node:crypto"

/** What is needed again when the browser comes back. */
export interface LoginAttempt {
  readonly nonce: string
  readonly verifier: string
  /** A path of this Hub. */
  readonly returnTo: string
  /** How old the sign-in at the provider may be, in seconds. Absent: as old as the provider has it. */
  readonly maxAge?: number | undefined
}

/** What the browser brings back: the state in the address, and the cookie that it was given. */
export interface AttemptKey {
  readonly state: string
  readonly browser: string
}

/** Milliseconds. */
export const ATTEMPT_TTL = 600_000

export class LoginAttempts extends Context.Service<
  LoginAttempts,
  {
    readonly begin: (key: AttemptKey, attempt: LoginAttempt) => Effect.Effect<void, SqlError.SqlError>
    /** The attempt, which is then used up; undefined where there is none of that state and browser. */
    readonly take: (key: AttemptKey) => Effect.Effect<LoginAttempt | undefined, SqlError.SqlError>
  }
>()("corral/hub/LoginAttempts") {
  static readonly layer = Layer.effect(
    LoginAttempts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const oldest = () => new Date(clock.currentTimeMillisUnsafe() - ATTEMPT_TTL)
      return LoginAttempts.of({
        begin: Effect.fnUntraced(function* ({ browser, state }, { maxAge, nonce, returnTo, verifier }) {
          yield* sql`DELETE FROM login_attempts WHERE created_at <= ${oldest()}`
          yield* sql`INSERT INTO login_attempts ${sql.insert({
            state_hash: sha256(state),
            browser_hash: sha256(browser),
            nonce,
            verifier,
            return_to: returnTo,
            max_age_s: maxAge ?? null,
            created_at: new Date(clock.currentTimeMillisUnsafe())
          })}`
        }),
        take: Effect.fnUntraced(function* ({ browser, state }) {
          const [row] = yield* sql<Row>`
            DELETE FROM login_attempts
            WHERE state_hash = ${sha256(state)} AND browser_hash = ${sha256(browser)} AND created_at > ${oldest()}
            RETURNING nonce, verifier, return_to, max_age_s`
          return (
            row && {
              nonce: row.nonce,
              verifier: row.verifier,
              returnTo: row.return_to,
              maxAge: row.max_age_s ?? undefined
            }
          )
        })
      })
    })
  )
}

interface Row {
  readonly nonce: string
  readonly verifier: string
  readonly return_to: string
  readonly max_age_s: number | null
}

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest()
