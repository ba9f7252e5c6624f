/** One page of a run's log as JSON. */
import type { EventPage } from "@corral/domain/edge-api/Runs"
import type { RequestId } from "@corral/domain/identity/Ids"
import type { Envelope } from "@corral/domain/run/RunEvent"
import { Effect } from "effect"
import { type LogSource, READ_BUDGET, ReplayGap } from "./LogSource.ts"

export interface PageOptions {
  readonly after: number
  readonly limit: number
  /** Last seq of the log. */
  readonly lastSeq: number
  readonly requestId: RequestId
}

/**
 * At most `limit` events after `after`. `nextCursor` is the next `after`, or null at the end of the log. A page ends before an event that
 * cannot be read; a page that starts there fails.
 */
export const eventPage = Effect.fnUntraced(function* <E>(
  source: LogSource<E>,
  { after, lastSeq, limit, requestId }: PageOptions
): Effect.fn.Return<EventPage, E | ReplayGap> {
  if (source.hasDropped(after)) return yield* new ReplayGap()
  const lines: Array<string> = []
  let position = after
  // A seq beyond the end may be larger than a database integer.
  while (lines.length < limit && position < lastSeq) {
    const read = source.read(position, READ_BUDGET)
    const batches = yield* lines.length === 0 ? read : Effect.orElseSucceed(read, () => [])
    const last = batches.at(-1)
    if (last === undefined) break
    for (const batch of batches) lines.push(...batch.lines.split("\n"))
    position = last.lastSeq
  }
  // Every event was validated before it was stored.
  const items = lines.slice(0, limit).map((line) => JSON.parse(line) as Envelope)
  const end = items.at(-1)?.seq ?? after
  return { items, nextCursor: lastSeq > end ? String(end) : null, requestId }
})
