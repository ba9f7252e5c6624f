/** Notices of the Hubs on one database, as another Hub receives them. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Queue } from "effect"
import { channels, type NoticeKind } from "../../src/store/Notices.ts"
import type { HubProcess } from "@corral/testing/hub/HubProcess"
import { within } from "@corral/testing/time/Until"

/** The first notice after `act` began. */
export const heardWhile = (hub: HubProcess, kind: NoticeKind, act: () => Promise<unknown>): Promise<string> =>
  within(
    hub.people.act(
      Effect.scoped(
        Effect.gen(function* () {
          const pg = yield* PgClient.PgClient
          const notices = yield* pg.listen(channels[kind])
          yield* Effect.promise(act)
          const { payload } = yield* Queue.take(notices)
          return payload
        })
      )
    ),
    10_000,
    "the notice"
  )
