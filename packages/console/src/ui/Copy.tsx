/**
 * Copy to the clipboard, with a short confirmation: by a button for a text that is not shown, beside a text, or on a line with a command or a
 * token.
 */
import { useEffect, useState } from "react"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "./Icon.tsx"
import { uiMessages } from "./messages.ts"

const useCopy = (text: string): readonly [copied: boolean, copy: () => void] => {
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return undefined
    const timer = setTimeout(() => setCopied(false), 1_500)
    return () => clearTimeout(timer)
  }, [copied])
  const copy = () => void navigator.clipboard.writeText(text).then(() => setCopied(true))
  return [copied, copy]
}

/** Button that copies a text which is not shown, such as an id. */
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

/** Small button beside a text that copies it. */
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

/** Line of text, such as a command or a token, with a copy button. */
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

/** `run_…7K2M9Q`: the prefix and the last six characters. */
export const shortenId = (id: string): string => (id.length <= 14 ? id : `${id.slice(0, 4)}…${id.slice(-6)}`)

/** Shortened id. A click copies the full id. */
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
