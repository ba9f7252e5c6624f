/**
 * Texts that people wrote for a request which expired, or which another person answered, before they were sent. They go to the composer of the
 * session, or to a note on a page without one.
 */
import { createContext, type ReactNode, useCallback, useContext, useEffect, useRef, useState } from "react"
import { useMessages } from "../text/Language.tsx"
import { CopyButton } from "./Copy.tsx"
import { Icon } from "./Icon.tsx"
import { uiMessages } from "./messages.ts"

/** Takes a text. Absent where there is no composer. */
export const UnsentText = createContext<((text: string) => void) | undefined>(undefined)

/** Hands over a text that is left when its form goes. `isSent`: whether the text was, or is being, sent. */
export const useUnsentText = (text: string, isSent: boolean): void => {
  const take = useContext(UnsentText)
  const latest = useRef({ text, isSent, take })
  useEffect(() => {
    latest.current = { text, isSent, take }
  })
  useEffect(
    () => () => {
      const left = latest.current
      if (!left.isSent && left.text.trim() !== "") left.take?.(left.text)
    },
    []
  )
}

interface KeptTexts {
  /** For `UnsentText`. */
  readonly keep: (text: string) => void
  /** Undefined if there is nothing to show. */
  readonly notes: ReactNode
}

/** Unsent texts on a page without a composer: a note with each of them, until the user dismisses it. */
export const useKeptTexts = (): KeptTexts => {
  const messages = useMessages(uiMessages)
  const [texts, setTexts] = useState<ReadonlyArray<string>>([])
  const keep = useCallback((text: string) => setTexts((now) => [...new Set([...now, text])]), [])
  const notes = texts.map((text) => (
    <div key={text} className="notice unsent-text" role="status">
      <p>{messages.unsentText}</p>
      <p className="said">{text}</p>
      <CopyButton label={messages.copy} text={text} />
      <button
        type="button"
        className="icon-button"
        aria-label={messages.dismiss}
        onClick={() => setTexts((now) => now.filter((other) => other !== text))}
      >
        <Icon name="close" />
      </button>
    </div>
  ))
  return { keep, notes: notes.length === 0 ? undefined : notes }
}
