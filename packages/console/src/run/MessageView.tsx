/** Text of a run: streamed Markdown, in which each complete segment renders once. Reasoning is folded. */
import type { Envelope } from "@corral/domain/run/RunEvent"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { memo, useState } from "react"
import { Clipped } from "../markdown/Clipped.tsx"
import { Markdown } from "../markdown/Markdown.tsx"
import { splitMarkdown } from "../markdown/segments.ts"
import { visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { isClipped, type MessageBlock } from "@corral/domain/run/RunBlock"
import { WholeText } from "./WholeText.tsx"
import { runMessages } from "./messages.ts"
import "./run.css"

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
