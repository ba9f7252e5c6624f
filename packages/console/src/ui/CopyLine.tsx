/** A line to take elsewhere, such as a command or a token, with a button that copies it. */
import { useWords } from "../text/Language.tsx"
import { useCopy } from "./Copy.ts"
import { uiWords } from "./messages.ts"

export const CopyLine = ({ text, what }: { readonly text: string; readonly what: string }) => {
  const words = useWords(uiWords)
  const [copied, copy] = useCopy(text)
  return (
    <div className="copy-line">
      <code className="command">{text}</code>
      <button type="button" className="button small" onClick={copy} aria-label={`${words.copy}: ${what}`}>
        {copied ? words.copied : words.copy}
      </button>
    </div>
  )
}
