/**
 * Long text, clipped at first so that the page stays fast. The user expands it in steps, and the browser renders only visible pieces.
 */
import { type ReactNode, useState } from "react"
import { useMessages } from "../text/Language.tsx"
import { CopyIcon } from "../ui/Copy.tsx"
import { markdownMessages } from "./messages.ts"
import { visibleText } from "./visible.ts"
import "./markdown.css"

/** Initial limit in characters and lines. */
const FIRST = 6_000
const FIRST_LINES = 80

/** The first characters and lines, cut at a line end if possible. */
export const clipStart = (text: string, most = FIRST, lines = FIRST_LINES): string => {
  let end = -1
  for (let line = 0; line < lines; line++) {
    const next = text.indexOf("\n", end + 1)
    if (next === -1 || next > most) return text.length <= most ? text : text.slice(0, most).toWellFormed()
    end = next
  }
  return end === text.length - 1 ? text : text.slice(0, end)
}

/** The last characters and lines, cut at a line end if possible. A line end at the end of the text ends its last line. */
export const clipEnd = (text: string, most = FIRST, lines = FIRST_LINES): string => {
  let start = text.endsWith("\n") ? text.length - 1 : text.length
  for (let line = 0; line < lines; line++) {
    const before = start <= 0 ? -1 : text.lastIndexOf("\n", start - 1)
    if (before === -1 || text.length - before - 1 > most)
      return text.length <= most
        ? text
        : line === 0
          ? text.slice(-most).toWellFormed()
          : text.slice(start + 1)
    start = before
  }
  return text.slice(start + 1)
}

const STEP = 200_000
const PIECE = 8_192

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

interface ClippedProps {
  readonly text: string
  readonly className?: string
  /** Whether the whole text is shown at first. */
  readonly isWhole?: boolean
  /** Whether the end is shown at first, as of an output. */
  readonly isEnd?: boolean
  /** Label of the button that copies the whole text. Absent for texts that people wrote. */
  readonly copies?: string
  /** What the button copies instead of the text. */
  readonly copyText?: string | undefined
  /** Renders the initial part. The rest is plain text. */
  readonly children?: (part: string) => ReactNode
}

export const Clipped = ({
  children = (part) => part,
  className = "",
  copies,
  copyText,
  isEnd = false,
  isWhole = false,
  text
}: ClippedProps) => {
  const messages = useMessages(markdownMessages)
  const [most, setMost] = useState(isWhole ? text.length : 0)
  const first = isEnd ? clipEnd(text) : clipStart(text)
  const whole = first.length >= text.length
  const shown = most === 0 ? first : text.slice(0, most)
  const left = text.length - shown.length
  const more = !whole && left > 0 && (
    <button
      type="button"
      className="clipped-more"
      data-hidden-lines={lineCount(text, shown.length)}
      onClick={() => setMost((now) => (now === 0 ? STEP : now + STEP))}
    >
      {isEnd && most === 0 ? messages.before(left) : messages.more(left)}
    </button>
  )
  return (
    <div className={`clipped ${copies === undefined ? "" : "clipped-copied"} ${className}`}>
      {isEnd && most === 0 && more}
      <div className="clipped-frame">
        <pre tabIndex={0}>
          {most === 0 || whole
            ? children(whole ? text : first)
            : pieces(shown).map((piece, at) => (
                <span key={at} className="clipped-piece">
                  {piece}
                </span>
              ))}
        </pre>
        {copies !== undefined && <CopyIcon label={copies} text={visibleText(copyText ?? text)} />}
      </div>
      {!(isEnd && most === 0) && more}
    </div>
  )
}
