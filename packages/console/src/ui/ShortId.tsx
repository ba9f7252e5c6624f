/** Shortened id. A click copies the full id. */
import { useCopy } from "./Copy.tsx"
import { useMessages } from "../text/Language.tsx"
import { uiMessages } from "./messages.ts"

/** `run_…7K2M9Q`: the prefix and the last six characters. */
export const shortenId = (id: string): string => (id.length <= 14 ? id : `${id.slice(0, 4)}…${id.slice(-6)}`)

export const ShortId = ({ id }: { readonly id: string }) => {
  const messages = useMessages(uiMessages)
  const [copied, copy] = useCopy(id)
  return (
    <button type="button" className="short-id" title={id} onClick={copy}>
      <span className="hidden">{messages.copy} </span>
      {copied ? messages.copied : shortenId(id)}
    </button>
  )
}
