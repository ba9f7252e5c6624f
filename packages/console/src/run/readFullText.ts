/** Reads the whole of a clipped text again from the events at the Hub. */
import { firstCharacters } from "@corral/domain/text/Cut"
import type { Envelope } from "@corral/domain/run/RunEvent"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { hubApi } from "../api/Hub.ts"
import type { BoundedText } from "@corral/domain/run/BoundedText"

/** Maximum number of characters to read. */
const MAX_CHARACTERS = 2_097_152

export interface FullText {
  readonly text: string
  /** Whether there is more text. */
  readonly cut: boolean
}

/** `of` returns the text that an event adds, if any. */
export const readFullText = async (
  runId: HubRun["id"],
  { from, to }: BoundedText,
  of: (event: Envelope) => unknown,
  signal: AbortSignal
): Promise<FullText> => {
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
    if (size > MAX_CHARACTERS) return { text: firstCharacters(parts.join(""), MAX_CHARACTERS), cut: true }
  }
  return { text: parts.join(""), cut: false }
}
