/** Small button beside a text that copies it. */
import { useMessages } from "../text/Language.tsx"
import { useCopy } from "./Copy.ts"
import { Icon } from "./Icon.tsx"
import { uiMessages } from "./messages.ts"

export const CopyIcon = ({ label, text }: { readonly label: string; readonly text: string }) => {
  const messages = useMessages(uiMessages)
  const [copied, copy] = useCopy(text)
  const name = copied ? messages.copied : label
  return (
    <button type="button" className="icon-button copy-icon" aria-label={name} title={name} onClick={copy}>
      <Icon name={copied ? "check" : "copy"} size={14} />
    </button>
  )
}
