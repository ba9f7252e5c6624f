/**
 * Requesters of a run: every user who sent a message to its agent. A project can forbid them to decide the run's approvals.
 *
 * Guarantees: a user is recorded before the message is sent, so no approval comes first. `RunLog` records the author of the run's task with
 * the run, and the requesters of the run that it resumes.
 */
import type { RunId, UserId } from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

export class RunRequesters extends Context.Service<
  RunRequesters,
  {
    /**
     * Runs `send`, which sends a message of the user to the run. The user stays a requester unless `send` fails with an error that is not
     * `isUnknown`: then the message did not arrive.
     */
    readonly sendAs: <A, E, R>(
      runId: RunId,
      userId: UserId,
      send: Effect.Effect<A, E, R>,
      isUnknown: (error: E) => boolean
    ) => Effect.Effect<A, E | SqlError.SqlError, R>
  }
>()("corral/hub/RunRequesters") {
  static readonly layer = Layer.effect(
    RunRequesters,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      return RunRequesters.of({
        sendAs: Effect.fn("RunRequesters.sendAs")(function* <A, E, R>(
          runId: RunId,
          userId: UserId,
          send: Effect.Effect<A, E, R>,
          isUnknown: (error: E) => boolean
        ) {
          const input = mint<string>("inp", clock.currentTimeMillisUnsafe())
          yield* sql`INSERT INTO run_requesters ${sql.insert({ run_id: runId, user_id: userId, input })}`
          return yield* Effect.tapError(send, (error) =>
            isUnknown(error)
              ? Effect.void
              : Effect.asVoid(sql`DELETE FROM run_requesters WHERE run_id = ${runId} AND input = ${input}`)
          )
        })
      })
    })
  )
}
