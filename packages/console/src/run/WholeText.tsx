/** Whole text of a clipped block: read from the Hub on request, dropped when hidden. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { BoundedText } from "@corral/domain/run/RunBlock"
import type { Envelope } from "@corral/domain/run/RunEvent"
import { firstCharacters } from "@corral/domain/text/Cut"
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { Clipped } from "../markdown/Clipped.tsx"
import { visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Loading } from "../ui/Loading.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { uiMessages } from "../ui/messages.ts"
import { runMessages } from "./messages.ts"
import "../markdown/markdown.css"

/** Maximum number of characters to read. */
const MAX_CHARACTERS = 2_097_152

interface FullText {
  readonly text: string
  /** Whether there is more text. */
  readonly cut: boolean
}

/** Reads the whole of a clipped text again from the events at the Hub. `of` returns the text that an event adds, if any. */
const readFullText = async (
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

interface WholeTextProps {
  readonly runId: HubRun["id"]
  readonly bounded: BoundedText
  /** Key of the text among those of its events. */
  readonly name: string
  readonly of: (event: Envelope) => unknown
}

export const WholeText = ({ bounded, name, of, runId }: WholeTextProps) => {
  const messages = useMessages(runMessages)
  const { copy } = useMessages(uiMessages)
  const [open, setOpen] = useState(false)
  const query = useQuery({
    queryKey: ["run-texts", runId, name, bounded.from],
    queryFn: ({ signal }) => readFullText(runId, bounded, of, signal),
    enabled: open,
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY
  })
  return (
    <div className="whole">
      <button type="button" className="clipped-more" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? messages.hide : messages.showWhole(bounded.size)}
      </button>
      {open && query.isLoading && <Loading />}
      {open && <RefusalNote error={query.error} again={() => void query.refetch()} />}
      {open && query.data !== undefined && (
        <section aria-label={messages.wholeTitle}>
          <Clipped text={visibleText(query.data.text)} className="code" copies={copy} />
          {query.data.cut && <p className="quiet">{messages.wholeCut}</p>}
        </section>
      )}
    </div>
  )
}
