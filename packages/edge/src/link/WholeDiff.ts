/** A run's diff in one piece, read page by page, up to the size that can be sent. */
import type { Diff, FileDiff } from "@corral/domain/edge-api/Diff"
import { type ChangesUnknown, PayloadTooLarge } from "@corral/domain/errors/Failures"
import type { RunId } from "@corral/domain/identity/Ids"
import { MAX_LIMIT } from "@corral/domain/http/Page"
import { Effect } from "effect"
import type { Snapshots } from "../workspace/Snapshots.ts"

export type WholeDiff = Omit<Diff, "runId" | "nextCursor" | "requestId">

/** Up to `maxBytes` of JSON. */
export const wholeDiff = Effect.fn("WholeDiff.read")(function* (
  snapshots: Snapshots["Service"],
  runId: RunId,
  root: string,
  maxBytes: number
): Effect.fn.Return<WholeDiff, ChangesUnknown | PayloadTooLarge> {
  const items: Array<FileDiff> = []
  let size = 0
  for (;;) {
    const page = yield* snapshots.diff(runId, root, items.at(-1)?.path, MAX_LIMIT)
    items.push(...page.items)
    size += Buffer.byteLength(JSON.stringify(page.items))
    if (size > maxBytes) return yield* new PayloadTooLarge({ message: "The diff is too large to be sent." })
    if (page.items.length < MAX_LIMIT) return { ...page, items }
  }
})
