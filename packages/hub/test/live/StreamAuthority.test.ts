/** Permission checks of a running stream, without notices of changes. The clock is the test's own. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { REAUTHORIZED_WITHIN_SECONDS } from "@corral/domain/http/StreamEnd"
import type { ProjectId, RequestId, RunId } from "@corral/domain/identity/Ids"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { within } from "@corral/testing/time/Until"
import { hubCoreLayer } from "../../src/Hub.ts"
import { HubConfig, hubDefaults } from "../../src/config/HubConfig.ts"
import { Notices } from "../../src/store/Notices.ts"
import { type LostAccess, StreamAuthority } from "../../src/live/StreamAuthority.ts"
import type { HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { type Mirror, createdRun, startMirror } from "@corral/testing/hub/Mirror"

describe("StreamAuthority", () => {
  const hub = new HubInProcess()
  let ada: HubClient
  let bob: HubClient
  let mirror: Mirror
  let project: ProjectId
  let runId: RunId
  beforeAll(async () => {
    ;({ ada, mirror, project } = await startMirror(hub))
    bob = await hub.signedIn("bob")
    await mirror.member(ada.userId, project, bob.userId, "viewer")
    runId = await mirror.run(project, createdRun)
  })
  afterAll(() => hub.remove())

  const silent = Layer.succeed(Notices, { follow: () => undefined })
  const services = Layer.suspend(() =>
    StreamAuthority.layer.pipe(
      Layer.provide(silent),
      Layer.provide(hubCoreLayer),
      Layer.provide(
        Layer.succeed(HubConfig, {
          ...hubDefaults,
          home: hub.home,
          maxConnections: 3,
          databaseUrl: hub.databaseUrl === undefined ? undefined : Redacted.make(hub.databaseUrl)
        })
      )
    )
  )

  /** The last round within the promised time starts. The clock stands still while it asks the database, so no limit of a query passes. */
  const untilLastRound = TestClock.adjust(`${REAUTHORIZED_WITHIN_SECONDS - 10} seconds`)

  /** Follows the run as that person; gives what the watch will say. */
  const followed = Effect.fnUntraced(function* (client: HubClient) {
    const authority = yield* StreamAuthority
    const target = `/client/events?runId=${runId}`
    const credential = { bearer: client.token ?? undefined, cookie: undefined }
    const subscription = yield* authority.admit(target, credential, "req_1" as RequestId)
    let isNotified = false
    const lost = new Promise<LostAccess>((resolve) => {
      authority.watch(subscription, (why) => {
        assert.isFalse(isNotified, "told once")
        isNotified = true
        resolve(why)
      })
    })
    return {
      lost: Effect.promise(() => within(lost, 10_000, "the end of the stream")),
      isLost: () => isNotified
    }
  })

  it.effect("finds within a minute that a reader is no longer a member", () =>
    Effect.gen(function* () {
      const [bobs, adas] = [yield* followed(bob), yield* followed(ada)]
      yield* Effect.promise(() => mirror.noMember(ada.userId, project, bob.userId))
      yield* untilLastRound
      assert.strictEqual(yield* bobs.lost, "accessLost")
      assert.isFalse(adas.isLost())
    }).pipe(Effect.provide(services))
  )

  it.effect("finds that a sign-in has run out, which following does not keep alive", () =>
    Effect.gen(function* () {
      const adas = yield* followed(ada)
      // The test's clock began with 1970.
      yield* Effect.promise(() =>
        hub.people.act(
          Effect.flatMap(
            SqlClient.SqlClient,
            (sql) =>
              sql`UPDATE sign_ins SET idle_until = ${new Date(10_000)} WHERE user_id = ${ada.userId ?? ""}`
          )
        )
      )
      yield* untilLastRound
      assert.strictEqual(yield* adas.lost, "signInEnded")
    }).pipe(Effect.provide(services))
  )
})
