/** One event of a log: its number, time and type on a line, and its JSON below it if it is open. */
import type { Envelope } from "@corral/domain/run/RunEvent"
import { memo } from "react"
import { Clipped } from "../markdown/Clipped.tsx"
import { visibleLine, visibleText } from "../markdown/visible.ts"
import { Icon } from "../ui/Icon.tsx"
import { payloadSummary } from "./payloadSummary.ts"
import "./log.css"

/** Characters of the payload on the line. */
const SUMMARY = 200

interface Props {
  readonly event: Envelope
  readonly isOpen: boolean
  readonly onToggle: () => void
}

/** `14:02:11.482`, in the time of the browser: many events have the same second. */
const clockTime = (at: string): string =>
  new Date(at).toLocaleTimeString("en", {
    hourCycle: "h23",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    fractionalSecondDigits: 3
  })

export const LogEvent = memo(({ event, isOpen, onToggle }: Props) => {
  const { createdAt, payload, seq, type } = event
  return (
    <>
      <button type="button" className="log-event" aria-expanded={isOpen} onClick={onToggle}>
        <Icon name={isOpen ? "fold" : "unfold"} size={14} />
        <span className="log-seq">{seq}</span>{" "}
        <time className="quiet" dateTime={createdAt} title={createdAt}>
          {clockTime(createdAt)}
        </time>{" "}
        <strong>{visibleLine(type, 80)}</strong>{" "}
        <span className="log-summary">{isOpen ? "" : visibleLine(payloadSummary(payload), SUMMARY)}</span>
      </button>
      {isOpen && <Clipped text={visibleText(JSON.stringify(payload, null, 2))} className="code log-json" />}
    </>
  )
})
