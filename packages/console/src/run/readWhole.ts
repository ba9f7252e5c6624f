/** A text of which only a part is kept here, read again from the events at the Hub. */
import type { Envelope } from "@corral/domain/run/RunEvent"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { hubApi } from "../api/Hub.ts"
import type { Kept } from "./Block.ts"

/** Characters that are read at most. */
const MOST = 2_097_152

export interface Whole {
  readonly text: string
  /** There is more of it. */
  readonly cut: boolean
}

/** `of` gives what an event adds to the text, nothing where it is of something else. */
export const readWhole = async (
  runId: HubRun["id"],
  { from, to }: Kept,
  of: (event: Envelope) => unknown,
  signal: AbortSignal
): Promise<Whole> => {
  const parts: Array<string> = []
  let [after, size] = [from - 1, 0]
  while (after < to) {
    const limit = Math.min(200, to - after)
    const { items } = await hubApi.runs.events({ params: { id: runId }, query: { after, limit }, signal })
    const last = items.at(-1)
    if (last === undefined) break
    after = last.seq
    for (const event of items) {
      const part = event.seq <= to ? of(event) : undefined
      if (typeof part !== "string") continue
      parts.push(part)
      size += part.length
    }
    if (size > MOST) return { text: parts.join("").slice(0, MOST), cut: true }
  }
  return { text: parts.join(""), cut: false }
}
