/** One page of a run's log as JSON. */
import type { RequestId, RunId } from "@corral/domain/identity/Ids"
import type { EventPage } from "@corral/domain/edge-api/RunViews"
import type { Envelope } from "@corral/domain/run/RunEvent"
import type { EdgeEventLog } from "../log/EdgeEventLog.ts"
import type { LogBatch } from "../log/LogBatch.ts"
import { StoreDamaged } from "../store/StoreDamage.ts"

const BUDGET = 65_536

/** Events before damaged ones are a page; a page that begins with them is refused. */
const readAhead = (
  log: EdgeEventLog["Service"],
  runId: RunId,
  after: number,
  hasEvents: boolean
): ReadonlyArray<LogBatch> => {
  try {
    return log.read(runId, after, BUDGET)
  } catch (error) {
    if (hasEvents && error instanceof StoreDamaged) return []
    throw error
  }
}

/** At most `limit` events after `after`; `nextCursor` is the next `after`, null at the log's present end. */
export const eventPage = (
  log: EdgeEventLog["Service"],
  runId: RunId,
  after: number,
  limit: number,
  requestId: RequestId
): EventPage => {
  const lines: Array<string> = []
  let position = after
  while (lines.length < limit) {
    const batches = readAhead(log, runId, position, lines.length > 0)
    const last = batches.at(-1)
    if (last === undefined) break
    for (const batch of batches) lines.push(...batch.lines.split("\n"))
    position = last.lastSeq
  }
  // The log holds what its encoder wrote, and nothing else writes there.
  const items = lines.slice(0, limit).map((line) => JSON.parse(line) as Envelope)
  const lastSeq = items.at(-1)?.seq ?? after
  return { items, nextCursor: log.lastSeq(runId) > lastSeq ? String(lastSeq) : null, requestId }
}
