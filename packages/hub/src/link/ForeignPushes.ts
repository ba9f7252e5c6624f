/** Audit of devices that push events of another device's runs: one record per device and minute, in the project of such a run. */
import type { DeviceId, RequestId, RunId } from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Audit } from "../audit/Audit.ts"
import { RequestRateLimit } from "@corral/service/http/RequestRateLimit"
import { runProjectRows } from "../run/Runs.ts"

export class ForeignPushes extends Context.Service<
  ForeignPushes,
  {
    /** Writes no record about runs that do not exist. */
    readonly record: (
      deviceId: DeviceId,
      runIds: ReadonlyArray<RunId>
    ) => Effect.Effect<void, SqlError.SqlError>
  }
>()("corral/hub/ForeignPushes") {
  static readonly layer = Layer.effect(
    ForeignPushes,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit
      const clock = yield* Clock.Clock
      const now = () => clock.currentTimeMillisUnsafe()
      const audited = new RequestRateLimit(1, now, 60_000)
      return ForeignPushes.of({
        record: Effect.fn("ForeignPushes.record")(function* (deviceId, runIds) {
          if (!audited.has(deviceId)) return
          const run = yield* runProjectRows.first(sql`
            SELECT id, project_id FROM runs WHERE id = ANY(${runIds}::text[]) AND target_id <> ${deviceId} LIMIT 1`)
          if (run === undefined || !audited.take(deviceId)) return
          yield* audit.record({
            action: "run.push",
            resource: run.id,
            projectId: run.project_id,
            actor: deviceId,
            outcome: "denied",
            code: "permission_denied",
            requestId: mint<RequestId>("req", now())
          })
        })
      })
    })
  )
}
