/** Project of a session, for services that run before `Sessions`. */
import type { ProjectId, SessionId } from "@corral/domain/identity/Ids"
import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

export class SessionProject extends Context.Service<
  SessionProject,
  { readonly find: (id: SessionId) => Effect.Effect<ProjectId | undefined, SqlError.SqlError> }
>()("corral/hub/SessionProject") {
  static readonly layer = Layer.effect(
    SessionProject,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      return SessionProject.of({
        find: (id) =>
          Effect.map(
            sql<{ readonly project_id: ProjectId }>`SELECT project_id FROM sessions WHERE id = ${id}`,
            ([row]) => row?.project_id
          )
      })
    })
  )
}
