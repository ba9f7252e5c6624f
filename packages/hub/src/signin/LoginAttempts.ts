/**
 * Sign-ins in progress at the identity provider, and the path after them. Each is bound to its browser, valid for ten minutes and one
 * use. The path is always on this Hub, also if a link requests another site.
 */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { createHash } from "node:crypto"
import { storedRows } from "../store/StoredRows.ts"

/** Placeholder for the origin of the Hub, to parse a path as browsers do. */
const PLACEHOLDER_ORIGIN = "https://hub.invalid"

/** Paths that a browser, or a proxy that decodes again, reads as another host. */
const leadsAway = /^[/\\]*(?:%2f|%5c|[/\\]{2})/i

/** Safe path, query and fragment; "/" for anything that is not a path of the Hub. */
export const returnPathOf = (requested: string | undefined): string => {
  if (requested === undefined || !requested.startsWith("/") || /[\\\p{Cc}]/u.test(requested)) return "/"
  const url = URL.parse(requested, PLACEHOLDER_ORIGIN)
  if (url === null || url.origin !== PLACEHOLDER_ORIGIN || leadsAway.test(url.pathname)) return "/"
  return url.pathname + url.search + url.hash
}

const loginAttemptRows = storedRows(
  "login_attempts",
  Schema.Struct({
    nonce: Schema.String,
    verifier: Schema.String,
    return_to: Schema.String,
    max_age_s: Schema.NullOr(Schema.Number)
  })
)

/** Data needed when the browser returns. */
export interface LoginAttempt {
  readonly nonce: string
  readonly verifier: string
  /** A path of this Hub. */
  readonly returnTo: string
  /** Greatest age of the authentication at the provider, in seconds; absent: any. */
  readonly maxAge?: number | undefined
}

/** Proof of the returning browser: the state in the address, and its cookie. */
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
    /** Takes an attempt, which can be used once; `undefined` if the state and the browser have none. */
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
        begin: Effect.fn("LoginAttempts.begin")(function* (
          { browser, state },
          { maxAge, nonce, returnTo, verifier }
        ) {
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
        take: Effect.fn("LoginAttempts.take")(function* ({ browser, state }) {
          const row = yield* loginAttemptRows.first(sql`
            DELETE FROM login_attempts
            WHERE state_hash = ${sha256(state)} AND browser_hash = ${sha256(browser)} AND created_at > ${oldest()}
            RETURNING nonce, verifier, return_to, max_age_s`)
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

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest()
