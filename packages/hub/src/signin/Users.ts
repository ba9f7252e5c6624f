/** Users, as the identity provider names them. Issuer and subject identify a user, never an email address. */
import { UserId } from "@corral/domain/identity/Ids"
import type { User } from "@corral/domain/identity/User"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Timestamp, storedRows } from "../store/StoredRows.ts"

const UserRow = Schema.Struct({
  id: UserId,
  name: Schema.String,
  email: Schema.NullOr(Schema.String),
  created_at: Timestamp
})

const USER_COLUMNS = Object.keys(UserRow.fields).join(", ")

const userRows = storedRows("users", UserRow)
const userIdRows = storedRows("users", Schema.Struct({ id: UserId }))

const userOf = ({ created_at, email, id, name }: typeof UserRow.Type): User => ({
  id,
  name,
  ...(email === null ? {} : { email }),
  createdAt: created_at.toISOString()
})

/** Identity that the provider has proven. */
export interface ProviderIdentity {
  readonly issuer: string
  readonly subject: string
  readonly name: string
  readonly email?: string | undefined
}

export class Users extends Context.Service<
  Users,
  {
    /** Creates or updates the user of an identity at a sign-in. Name and address are the provider's latest. */
    readonly admit: (identity: ProviderIdentity) => Effect.Effect<User, SqlError.SqlError>
    /** The only user with an email address, ignoring case; `undefined` if no user or several users have it. */
    readonly withEmail: (email: string) => Effect.Effect<UserId | undefined, SqlError.SqlError>
    readonly find: (id: UserId) => Effect.Effect<User | undefined, SqlError.SqlError>
  }
>()("corral/hub/Users") {
  static readonly layer = Layer.effect(
    Users,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const columns = sql.literal(USER_COLUMNS)
      return Users.of({
        admit: Effect.fn("Users.admit")(function* ({ issuer, subject, name, email }: ProviderIdentity) {
          const now = clock.currentTimeMillisUnsafe()
          const user = {
            id: mint<UserId>("usr", now),
            issuer,
            subject,
            name,
            email: email ?? null,
            created_at: new Date(now),
            signed_in_at: new Date(now)
          }
          const row = yield* userRows.first(sql`
            INSERT INTO users ${sql.insert(user)}
            ON CONFLICT (issuer, subject) DO UPDATE
              SET name = excluded.name, email = excluded.email, signed_in_at = excluded.signed_in_at
            RETURNING ${columns}`)
          return row === undefined ? yield* Effect.die(new Error("An upsert returned no row.")) : userOf(row)
        }),
        withEmail: Effect.fn("Users.withEmail")(function* (email) {
          const [row, ...others] = yield* userIdRows.all(
            sql`SELECT id FROM users WHERE lower(email) = lower(${email}) LIMIT 2`
          )
          return others.length === 0 ? row?.id : undefined
        }),
        find: Effect.fnUntraced(function* (id) {
          const row = yield* userRows.first(sql`SELECT ${columns} FROM users WHERE id = ${id}`)
          return row && userOf(row)
        })
      })
    })
  )
}
