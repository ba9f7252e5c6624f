/**
 * Logout tokens of OpenID Connect Back-Channel Logout, with which the provider ends sessions.
 *
 * Guarantees: each token is accepted once, within two minutes of its issue.
 */
import { isJsonObject } from "@corral/domain/text/JsonObject"
import { type NotFound, Overloaded, Unauthorized } from "@corral/domain/errors/Failures"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { errors, type JWTPayload, jwtVerify } from "jose"
import { createHash } from "node:crypto"
import { ChatBindings } from "../chat/ChatBindings.ts"
import { IdentityProvider } from "./IdentityProvider.ts"
import type { ProviderSubject } from "./SignInRow.ts"
import { SignInStore } from "./SignInStore.ts"

const EVENT = "http://schemas.openid.net/event/backchannel-logout"
/** Seconds. */
const MAX_AGE = 120
const CLOCK_TOLERANCE = 30
/** Milliseconds for which a used token is stored: longer than any token is valid. */
const RETENTION = 600_000

export class LogoutTokens extends Context.Service<
  LogoutTokens,
  {
    /** Ends the sign-ins that a token names; without a session also the user's chat bindings. Returns the number of sign-ins. */
    readonly take: (
      logoutToken: string
    ) => Effect.Effect<number, Unauthorized | NotFound | Overloaded | SqlError.SqlError>
  }
>()("corral/hub/LogoutTokens") {
  static readonly layer = Layer.effect(
    LogoutTokens,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const bindings = yield* ChatBindings
      const signIns = yield* SignInStore
      const provider = yield* IdentityProvider
      const clock = yield* Clock.Clock

      const verified = Effect.fnUntraced(function* (token: string) {
        const { config, keys } = yield* provider.configured
        const keySet = yield* keys
        const { payload } = yield* Effect.tryPromise({
          try: () =>
            jwtVerify(token, keySet, {
              issuer: config.issuer,
              audience: config.clientId,
              typ: "logout+jwt",
              maxTokenAge: MAX_AGE,
              clockTolerance: CLOCK_TOLERANCE,
              requiredClaims: ["iat", "jti", "events"],
              currentDate: new Date(clock.currentTimeMillisUnsafe())
            }),
          // Other errors come from the network.
          catch: (error) =>
            error instanceof errors.JOSEError && !(error instanceof errors.JWKSTimeout)
              ? refused()
              : new Overloaded({ message: "Can't load the keys of the identity provider. Try again later." })
        })
        return { issuer: config.knownAs ?? config.issuer, payload }
      })

      return LogoutTokens.of({
        take: Effect.fn("LogoutTokens.take")(function* (token) {
          const { issuer, payload } = yield* verified(token)
          const subject = subjectOf(issuer, payload)
          if (subject === undefined || payload.jti === undefined) return yield* refused()
          const at = clock.currentTimeMillisUnsafe()
          const id = createHash("sha256").update(`${issuer}\n${payload.jti}`).digest()
          return yield* sql.withTransaction(
            Effect.gen(function* () {
              yield* sql`DELETE FROM logout_tokens WHERE seen_at < ${new Date(at - RETENTION)}`
              const first = yield* sql`
                INSERT INTO logout_tokens ${sql.insert({ id_hash: id, seen_at: new Date(at) })}
                ON CONFLICT DO NOTHING RETURNING id_hash`
              if (first.length === 0) return yield* refused()
              // Without a session, the logout is of the user: their chat accounts can't act for them either.
              if (subject.session === undefined) yield* bindings.endOf(subject)
              return yield* signIns.revokeOf(subject)
            })
          )
        })
      })
    })
  )
}

const refused = () => new Unauthorized({ message: "This logout token isn't valid here." })

/** Subject of a token; `undefined` if the token violates the specification. */
const subjectOf = (issuer: string, { events, nonce, sid, sub }: JWTPayload): ProviderSubject | undefined => {
  const isLogout =
    typeof events === "object" && events !== null && isJsonObject((events as Record<string, unknown>)[EVENT])
  if (!isLogout || nonce !== undefined) return undefined
  if (typeof sid === "string") return { issuer, session: sid, subject: sub }
  return typeof sub === "string" ? { issuer, subject: sub } : undefined
}
