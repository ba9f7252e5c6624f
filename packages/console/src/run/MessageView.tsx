/** A message: Markdown as it is written, drawn once for each piece that is done; reasoning folded. */
import type { Envelope } from "@corral/domain/run/RunEvent"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { memo } from "react"
import { Clipped } from "../markdown/Clipped.tsx"
import { Markdown } from "../markdown/Markdown.tsx"
import { segments } from "../markdown/segments.ts"
import { visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import type { MessageBlock } from "./Block.ts"
import { isClipped } from "./kept.ts"
import { WholeText } from "./WholeText.tsx"
import { runMessages } from "./messages.ts"
import "./run.css"

/** An open end that is longer than this is drawn as plain text until it is done. */
const OPEN = 2_000
/** Of a plain end so much is drawn; there is more of it than anybody reads at that speed. */
const PLAIN = 6_000

const plainEnd = (text: string): string => (text.length > PLAIN ? `…${text.slice(-PLAIN)}` : text)

const Growing = ({ text, skipped }: { readonly text: string; readonly skipped: number }) => {
  const pieces = segments(text)
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

/** A whole that is very long is drawn in pieces too: each is small enough for the parser. */
const Finished = ({ text }: { readonly text: string }) =>
  text.length <= 16_000 ? (
    <Markdown text={text} />
  ) : (
    segments(text, 4_000).map((piece) => <Markdown key={piece.start} text={piece.text} />)
  )

const textOf =
  ({ channel, messageId, partial }: MessageBlock) =>
  ({ payload, type }: Envelope): unknown => {
    if (type === "run.created") return Object(payload["input"]).text
    const own = payload["messageId"] === messageId && payload["channel"] === channel
    return own && (partial || type === "run.message.completed") ? payload["text"] : undefined
  }

interface Props {
  readonly block: MessageBlock
  readonly runId: HubRun["id"]
  readonly isOver: boolean
}

export const MessageView = memo(({ block, isOver, runId }: Props) => {
  const words = useMessages(runMessages)
  const { body, channel, partial, role } = block
  const who = role === "user" ? words.you : role === "system" ? words.system : words.agentSays
  const content = (
    <>
      {body.skipped > 0 && <p className="quiet">{words.earlier}</p>}
      {role === "user" ? (
        // As it was typed: a prompt is no document.
        <Clipped text={visibleText(body.text)} />
      ) : partial ? (
        <Growing text={body.text} skipped={body.skipped} />
      ) : (
        <Finished text={body.text} />
      )}
      {!partial && isClipped(body) && <p className="quiet">{words.rest}</p>}
      {isClipped(body) && (!partial || isOver) && (
        <WholeText runId={runId} kept={body} name={`message ${block.seq}`} of={textOf(block)} />
      )}
      {partial && <p className="partial">{isOver ? words.unfinished : `● ${words.writing}`}</p>}
    </>
  )
  if (channel === "reasoning")
    return (
      <details className="message message-reasoning">
        <summary>
          {words.thinking}
          {partial && !isOver && <span className="partial"> ● {words.writing}</span>}
        </summary>
        {content}
      </details>
    )
  return (
    <div className={`message message-${role}`}>
      <p className="block-who">{who}</p>
      {content}
    </div>
  )
})
