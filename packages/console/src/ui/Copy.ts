/** Copy to the clipboard, with a short confirmation. */
import { useEffect, useState } from "react"

export const useCopy = (text: string): readonly [copied: boolean, copy: () => void] => {
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return undefined
    const timer = setTimeout(() => setCopied(false), 1_500)
    return () => clearTimeout(timer)
  }, [copied])
  const copy = () => void navigator.clipboard.writeText(text).then(() => setCopied(true))
  return [copied, copy]
}
