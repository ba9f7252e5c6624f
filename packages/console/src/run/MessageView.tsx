/** Text of a run: streamed Markdown, in which each complete segment renders once. Reasoning is folded. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { type BoundedText, isClipped } from "@corral/domain/run/RunBlock"
import type { MessageBlock } from "@corral/domain/run/RunBlock"
import type { Envelope } from "@corral/domain/run/RunEvent"
import { firstCharacters } from "@corral/domain/text/Cut"
import { useQuery } from "@tanstack/react-query"
import { memo, useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { Clipped } from "../markdown/Clipped.tsx"
import { Markdown, splitMarkdown } from "../markdown/Markdown.tsx"
import { visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Loading } from "../ui/ListStates.tsx"
import { uiMessages } from "../ui/messages.ts"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { runMessages } from "./messages.ts"
import "../markdown/markdown.css"
import "./run.css"

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

/** Whole text of a clipped block: read from the Hub on request, dropped when hidden. */
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

/** A longer open end is shown as plain text until it is complete. */
const OPEN = 2_000
/** Maximum number of characters of a plain end. More cannot be read at that speed. */
const PLAIN = 6_000

const plainEnd = (text: string): string => (text.length > PLAIN ? `…${text.slice(-PLAIN)}` : text)

const Growing = ({ text, skipped }: { readonly text: string; readonly skipped: number }) => {
  const pieces = splitMarkdown(text)
  const end = pieces.at(-1)
  return (
    <>
      {pieces.slice(0, -1).map((piece) => (
        <Markdown key={skipped + piece.start} text={piece.text} />
      ))}
      {end !== undefined && end.text.length <= OPEN && <Markdown text={end.text} />}
      {end !== undefined && end.text.length > OPEN && (
        <p className="md-plain">{visibleText(plainEnd(end.text))}</p>
      )}
    </>
  )
}

/** A very long text is also rendered in segments, each small enough for the parser. */
export const FinishedText = ({ text }: { readonly text: string }) =>
  text.length <= 16_000 ? (
    <Markdown text={text} />
  ) : (
    splitMarkdown(text, 4_000).map((piece) => <Markdown key={piece.start} text={piece.text} />)
  )

const textOf =
  ({ channel, messageId, partial }: MessageBlock) =>
  ({ payload, type }: Envelope): unknown => {
    if (type === "run.created") return Object(payload["input"]).text
    const isOwn = payload["messageId"] === messageId && payload["channel"] === channel
    return isOwn && (partial || type === "run.message.completed") ? payload["text"] : undefined
  }

interface Props {
  readonly block: MessageBlock
  readonly runId: HubRun["id"]
  readonly isOver: boolean
}

export const MessageView = memo(({ block, isOver, runId }: Props) => {
  const messages = useMessages(runMessages)
  const [isOpen, setOpen] = useState(false)
  const { body, channel, partial, role } = block
  const content = (
    <>
      {body.skipped > 0 && <p className="quiet">{messages.earlier}</p>}
      {role === "user" ? (
        // A prompt is shown as typed, not as Markdown.
        <Clipped text={visibleText(body.text)} />
      ) : partial ? (
        <Growing text={body.text} skipped={body.skipped} />
      ) : (
        <FinishedText text={body.text} />
      )}
      {!partial && isClipped(body) && <p className="quiet">{messages.rest}</p>}
      {isClipped(body) && (!partial || isOver) && (
        <WholeText runId={runId} bounded={body} name={`message ${block.seq}`} of={textOf(block)} />
      )}
      {partial && isOver && <p className="partial">{messages.unfinished}</p>}
    </>
  )
  if (channel === "reasoning")
    return (
      <details
        className="message message-reasoning"
        open={isOpen}
        onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
      >
        <summary>{messages.thinking}</summary>
        {isOpen && content}
      </details>
    )
  return (
    <div className={`message message-${role}`}>
      {role !== "assistant" && (
        <p className="message-who">{role === "user" ? messages.you : messages.system}</p>
      )}
      {content}
    </div>
  )
})
