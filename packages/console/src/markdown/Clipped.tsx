/**
 * Long text, clipped at first so that the page stays fast. The user expands it in steps, and the browser renders only visible pieces.
 */
import { type ReactNode, useState } from "react"
import { useMessages } from "../text/Language.tsx"
import { markdownMessages } from "./messages.ts"
import "./markdown.css"

/** Initial limit in characters and lines. */
const FIRST = 6_000
const FIRST_LINES = 80
const STEP = 200_000
const PIECE = 8_192

/** Returns the first `most` characters and `lines` lines, cut at a line end if possible. */
const clipText = (text: string, most = FIRST, lines = FIRST_LINES): string => {
  let end = -1
  for (let line = 0; line < lines; line++) {
    const next = text.indexOf("\n", end + 1)
    if (next === -1 || next > most) return text.length <= most ? text : text.slice(0, most).toWellFormed()
    end = next
  }
  return end === text.length - 1 ? text : text.slice(0, end)
}

const pieces = (text: string): ReadonlyArray<string> => {
  const cut: Array<string> = []
  for (let at = 0; at < text.length; at += PIECE) cut.push(text.slice(at, at + PIECE).toWellFormed())
  return cut
}

/** Lines of the text from a position on. */
const lineCount = (text: string, from: number): number => {
  let lines = 1
  for (let at = text.indexOf("\n", from + 1); at !== -1; at = text.indexOf("\n", at + 1)) lines++
  return lines
}

export interface ClippedProps {
  readonly text: string
  readonly className?: string
  /** Whether the whole text is shown at first. */
  readonly isWhole?: boolean
  /** Renders the initial part. The rest is plain text. */
  readonly children?: (part: string) => ReactNode
}

export const Clipped = ({
  children = (part) => part,
  className = "",
  isWhole = false,
  text
}: ClippedProps) => {
  const messages = useMessages(markdownMessages)
  const [most, setMost] = useState(isWhole ? text.length : 0)
  const first = clipText(text)
  const whole = first.length >= text.length
  const shown = most === 0 ? first : text.slice(0, most)
  return (
    <div className={`clipped ${className}`}>
      <pre tabIndex={0}>
        {most === 0 || whole
          ? children(whole ? text : first)
          : pieces(shown).map((piece, at) => (
              <span key={at} className="clipped-piece">
                {piece}
              </span>
            ))}
      </pre>
      {!whole && shown.length < text.length && (
        <button
          type="button"
          className="clipped-more"
          data-hidden-lines={lineCount(text, shown.length)}
          onClick={() => setMost((now) => (now === 0 ? STEP : now + STEP))}
        >
          {messages.more(text.length - shown.length)}
        </button>
      )}
    </div>
  )
}
