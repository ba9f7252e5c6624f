/** Whole text of a clipped block: read from the Hub on request, dropped when hidden. */
import type { Envelope } from "@corral/domain/run/RunEvent"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { Clipped } from "../markdown/Clipped.tsx"
import { visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Loading } from "../ui/Loading.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import type { BoundedText } from "@corral/domain/run/BoundedText"
import { readFullText } from "./readFullText.ts"
import { uiMessages } from "../ui/messages.ts"
import { runMessages } from "./messages.ts"
import "../markdown/markdown.css"

interface Props {
  readonly runId: HubRun["id"]
  readonly bounded: BoundedText
  /** Key of the text among those of its events. */
  readonly name: string
  readonly of: (event: Envelope) => unknown
}

export const WholeText = ({ bounded, name, of, runId }: Props) => {
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
