/** Button that copies a text which is not shown, such as an id. */
import { useMessages } from "../text/Language.tsx"
import { useCopy } from "./Copy.ts"
import { Icon } from "./Icon.tsx"
import { uiMessages } from "./messages.ts"

export const CopyButton = ({ label, text }: { readonly label: string; readonly text: string }) => {
  const messages = useMessages(uiMessages)
  const [copied, copy] = useCopy(text)
  return (
    <button type="button" className="button" onClick={copy}>
      <Icon name={copied ? "check" : "copy"} />
      {copied ? messages.copied : label}
    </button>
  )
}
