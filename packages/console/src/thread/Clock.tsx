/** Time since a moment, every second. Only this text renders. */
import { useEffect, useState } from "react"
import { useLanguage } from "../text/Language.tsx"
import { formatDuration } from "../text/Duration.ts"
import "./work.css"

/** `since` is ISO 8601. */
export const Clock = ({ since }: { readonly since: string }) => {
  const { language } = useLanguage()
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  return <span className="clock">{formatDuration(now - Date.parse(since), language)}</span>
}
