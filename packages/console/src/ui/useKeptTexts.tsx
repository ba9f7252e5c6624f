/** Unsent texts on a page without a composer: a note with each of them, until the user dismisses it. */
import { type ReactNode, useCallback, useState } from "react"
import { useMessages } from "../text/Language.tsx"
import { CopyButton } from "./Copy.tsx"
import { Icon } from "./Icon.tsx"
import { uiMessages } from "./messages.ts"

interface KeptTexts {
  /** For `UnsentText`. */
  readonly keep: (text: string) => void
  /** Undefined if there is nothing to show. */
  readonly notes: ReactNode
}

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
