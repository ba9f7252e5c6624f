/** People as the identity provider named them; known by issuer and subject, never by an address. */
import type { UserId } from "@corral/domain/identity/Ids"
import type { User } from "@corral/domain/identity/User"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

/** Who somebody is, in the words of the identity provider. */
export interface Identity {
  readonly issuer: string
  readonly subject: string
  readonly name: string
  readonly email?: string | undefined
}

export class Users extends Context.Service<
  Users,
  {
    /** The person of that identity, who has just signed in there: made the first time; name and address are the provider's latest. */
    readonly admit: (identity: Identity) => Effect.Effect<User, SqlError.SqlError>
    /** The one person who has that address, in any case of its letters; undefined where nobody has it, or several. */
    readonly withEmail: (email: string) => Effect.Effect<UserId | undefined, SqlError.SqlError>
    readonly find: (id: UserId) => Effect.Effect<User | undefined, SqlError.SqlError>
  }
>()("corral/hub/Users") {
  static readonly layer = Layer.effect(
    Users,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      return Users.of({
        admit: Effect.fnUntraced(function* ({ issuer, subject, name, email }: Identity) {
          const now = clock.currentTimeMillisUnsafe()
          const made = {
            id: mint<UserId>("usr", now),
            issuer,
            subject,
            name,
            email: email ?? null,
            created_at: new Date(now),
            signed_in_at: new Date(now)
          }
          const [row] = yield* sql<Row>`
            INSERT INTO users ${sql.insert(made)}
            ON CONFLICT (issuer, subject) DO UPDATE
              SET name = excluded.name, email = excluded.email, signed_in_at = excluded.signed_in_at
            RETURNING id, name, email, created_at`
          // An upsert gives its row.
          return userOf(row as Row)
        }),
        withEmail: (email) =>
          Effect.map(
            sql<Pick<Row, "id">>`SELECT id FROM users WHERE lower(email) = lower(${email}) LIMIT 2`,
            ([row, ...others]) => (others.length === 0 ? row?.id : undefined)
          ),
        find: (id) =>
          Effect.map(sql<Row>`SELECT id, name, email, created_at FROM users WHERE id = ${id}`, ([row]) =>
            row === undefined ? undefined : userOf(row)
          )
      })
    })
  )
}

interface Row {
  readonly id: UserId
  readonly name: string
  readonly email: string | null
  readonly created_at: Date
}

const userOf = ({ created_at, email, id, name }: Row): User => ({
  id,
  name,
  ...(email === null ? {} : { email }),
  createdAt: created_at.toISOString()
})
