/** An id, short, with the whole of it a click away. */
import { useCopy } from "./Copy.ts"
import { useWords } from "../text/Language.tsx"
import { uiWords } from "./messages.ts"

/** `run_…7K2M9Q`: the kind, and the end, which differs. */
export const shortened = (id: string): string => (id.length <= 14 ? id : `${id.slice(0, 4)}…${id.slice(-6)}`)

export const ShortId = ({ id }: { readonly id: string }) => {
  const words = useWords(uiWords)
  const [copied, copy] = useCopy(id)
  return (
    <button type="button" className="short-id" title={id} onClick={copy}>
      <span className="hidden">{words.copy} </span>
      {copied ? words.copied : shortened(id)}
    </button>
  )
}
