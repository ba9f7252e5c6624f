/** One page of a mirrored log as JSON. */
import type { Conflict } from "@corral/domain/errors/Failures"
import type { RequestId, RunId } from "@corral/domain/identity/Ids"
import type { Envelope } from "@corral/domain/run/RunEvent"
import type { EventPage } from "@corral/domain/edge-api/RunViews"
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { RunLog } from "../run/RunLog.ts"
import { requireKept } from "./ReplayGap.ts"

const BUDGET = 65_536

/** At most `limit` events after `after`; `nextCursor` is the next `after`, null at the log's present end, `lastSeq`. */
export const eventPage = Effect.fnUntraced(function* (
  log: RunLog["Service"],
  run: { readonly id: RunId; readonly lastSeq: number },
  after: number,
  limit: number,
  requestId: RequestId
): Effect.fn.Return<EventPage, Conflict | SqlError.SqlError> {
  const lines: Array<string> = []
  let position = after
  // A seq beyond the end may be beyond what the database counts to.
  while (lines.length < limit && position < run.lastSeq) {
    const batches = yield* log.read(run.id, position, BUDGET)
    yield* requireKept(batches, position, run.lastSeq)
    const last = batches.at(-1)
    if (last === undefined) break
    for (const batch of batches) lines.push(...batch.lines.split("\n"))
    position = last.lastSeq
  }
  // `RunLog` has looked at every event that it holds.
  const items = lines.slice(0, limit).map((line) => JSON.parse(line) as Envelope)
  const lastSeq = items.at(-1)?.seq ?? after
  return { items, nextCursor: run.lastSeq > lastSeq ? String(lastSeq) : null, requestId }
})
