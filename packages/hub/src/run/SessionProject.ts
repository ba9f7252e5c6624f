/** Project of a session, for services that run before `Sessions`. */
import { ProjectId, type SessionId } from "@corral/domain/identity/Ids"
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { storedRows } from "../store/StoredRows.ts"

const sessionProjectRows = storedRows("sessions", Schema.Struct({ project_id: ProjectId }))

export class SessionProject extends Context.Service<
  SessionProject,
  { readonly find: (id: SessionId) => Effect.Effect<ProjectId | undefined, SqlError.SqlError> }
>()("corral/hub/SessionProject") {
  static readonly layer = Layer.effect(
    SessionProject,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      return SessionProject.of({
        find: Effect.fnUntraced(function* (id) {
          const row = yield* sessionProjectRows.first(sql`SELECT project_id FROM sessions WHERE id = ${id}`)
          return row?.project_id
        })
      })
    })
  )
}
