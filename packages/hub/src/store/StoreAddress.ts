/** Address of the Hub's database, for other services in the same process that use it. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Redacted } from "effect"
import { dirname } from "node:path"

/** The configured `postgres://` URL, or the URL of the embedded server's socket. */
export const storeAddress: Effect.Effect<Redacted.Redacted, never, PgClient.PgClient> = Effect.map(
  PgClient.PgClient,
  ({ config: { database = "postgres", path = "", url, username = "" } }) => {
    if (url !== undefined) return url
    const address = new URL(`postgres://localhost/${encodeURIComponent(database)}`)
    address.username = username
    address.searchParams.set("host", dirname(path))
    return Redacted.make(address.href)
  }
)
