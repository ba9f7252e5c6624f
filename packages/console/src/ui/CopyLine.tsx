/** A line to take elsewhere, such as a command or a token, with a button that copies it. */
import { useMessages } from "../text/Language.tsx"
import { useCopy } from "./Copy.ts"
import { uiMessages } from "./messages.ts"

export const CopyLine = ({ text, what }: { readonly text: string; readonly what: string }) => {
  const messages = useMessages(uiMessages)
  const [copied, copy] = useCopy(text)
  return (
    <div className="copy-line">
      <code className="command">{text}</code>
      <button type="button" className="button small" onClick={copy} aria-label={`${messages.copy}: ${what}`}>
        {copied ? messages.copied : messages.copy}
      </button>
    </div>
  )
}
