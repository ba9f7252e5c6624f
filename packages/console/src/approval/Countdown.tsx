/** Countdown to the expiry of an approval. */
import { useEffect, useState } from "react"
import { useMessages } from "../text/Language.tsx"
import { approvalMessages } from "./messages.ts"
import "./approval.css"

/** `1:05`, `59:59`, `2 h 05 min`. */
const formatRemaining = (ms: number): string => {
  const seconds = Math.max(0, Math.ceil(ms / 1_000))
  const pad = (n: number) => String(n).padStart(2, "0")
  return seconds < 3_600
    ? `${Math.floor(seconds / 60)}:${pad(seconds % 60)}`
    : `${Math.floor(seconds / 3_600)} h ${pad(Math.floor((seconds % 3_600) / 60))} min`
}

/** Milliseconds until `until`, updated every second. */
export const useRemainingTime = (until: string): number => {
  const end = Date.parse(until)
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  return end - now
}

export const Countdown = ({ until }: { readonly until: string }) => {
  const messages = useMessages(approvalMessages)
  const left = useRemainingTime(until)
  const soon = left < 120_000
  return (
    <span className={`countdown ${soon ? "countdown-soon" : ""}`} title={new Date(until).toLocaleString()}>
      {left > 0 ? messages.expiresIn(formatRemaining(left)) : messages.expired}
    </span>
  )
}
