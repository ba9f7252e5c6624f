/**
 * Readiness of the Hub. The Hub is not ready without a database that takes writes. Without its identity provider only new sign-ins fail. Slow
 * commits of the database are a problem, as is a clock that differs from the database's, but the Hub works.
 *
 * Callers share one probe of the database per second. A background probe checks the provider, so no answer waits for it.
 */
import type { HealthProblem } from "@corral/domain/http/Health"
import { clockSkewProblem } from "@corral/service/clock/ClockSkew"
import { DatabaseClock } from "@corral/service/clock/DatabaseClock"
import { slowCommitsProblem } from "@corral/service/CommitTimes"
import { probeWrites } from "@corral/service/DatabaseStart"
import { Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { CommitTime } from "../store/CommitTime.ts"
import { IdentityProvider } from "../signin/IdentityProvider.ts"

export interface HubReadiness {
  readonly isReady: boolean
  readonly problems: ReadonlyArray<HealthProblem>
}

export class Readiness extends Context.Service<
  Readiness,
  { readonly current: Effect.Effect<HubReadiness> }
>()("corral/hub/Readiness") {
  static readonly layer = Layer.effect(
    Readiness,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const commitTime = yield* CommitTime
      const { skewMs } = yield* DatabaseClock
      const provider = yield* IdentityProvider
      const hasDatabase = yield* Effect.cachedWithTTL(
        Effect.andThen(probeWrites(sql), commitTime.measure).pipe(
          Effect.timeout("2 seconds"),
          Effect.isSuccess
        ),
        "1 second"
      )
      let canSignIn = true
      const probeProvider = Effect.gen(function* () {
        const { isReachable } = yield* provider.configured
        const isNowReachable = yield* isReachable
        if (isNowReachable !== canSignIn)
          yield* isNowReachable
            ? Effect.logInfo("identity provider recovered")
            : Effect.logWarning("identity provider unreachable")
        canSignIn = isNowReachable
        // Without a provider there is nothing to probe.
      }).pipe(Effect.catch(() => Effect.never))
      yield* Effect.forkScoped(Effect.repeat(probeProvider, Schedule.spaced("30 seconds")))

      return Readiness.of({
        current: Effect.map(hasDatabase, (isReady) => {
          const slow = commitTime.slow()
          return {
            isReady,
            problems: [
              ...(isReady ? [] : [noDatabase]),
              ...(slow === undefined ? [] : [slowCommitsProblem("database", slow, SLOW_DATABASE_HINT)]),
              ...clockSkewProblem(skewMs(), "the database server", CLOCK_HINT),
              ...(canSignIn ? [] : [noProvider])
            ]
          }
        })
      })
    })
  )
}

const noDatabase: HealthProblem = {
  part: "database",
  message: "The database can't be reached or takes no writes.",
  hint: "Check that PostgreSQL is running and reachable and has free disk space. The Hub restarts its embedded one and reconnects without a restart."
}

const SLOW_DATABASE_HINT =
  "Every event and decision waits for the disk of PostgreSQL. Check what else writes to it, or move the database to a faster disk."

const CLOCK_HINT =
  "Synchronize both machines with NTP. The Hub works with the time of the database server; its sign-ins and logs show that time."

const noProvider: HealthProblem = {
  part: "sign_in",
  message: "Can't reach the identity provider. New sign-ins fail.",
  hint: "Check CORRAL_OIDC_ISSUER and that the Hub can reach it. Existing sessions continue."
}
