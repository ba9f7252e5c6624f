/** Search documents of a Hub that contain every committed text. */
import { until } from "@corral/testing/time/Until"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { HubProcess } from "@corral/testing/hub/HubProcess"
import { indexChanges } from "../../src/search/SearchIndexer.ts"

/** Indexes what is noted, next to the Hub's own indexer, and waits for what that one has in progress. */
export const indexAll = (hub: HubProcess): Promise<true> =>
  until(
    () =>
      hub.people.act(
        Effect.gen(function* () {
          yield* indexChanges()
          const sql = yield* SqlClient.SqlClient
          const [open] = yield* sql`SELECT 1 FROM search_changes LIMIT 1`
          return open === undefined ? (true as const) : undefined
        })
      ),
    "the index"
  )
