/**
 * Log of a run: one line for each event, with its JSON on request. Includes events that the thread does not show. A line begins with the part of
 * the payload that tells the event from its neighbours.
 *
 * Guarantees: bounded work for the line of any payload. *Does not:* drop anything from the payload that the open event shows.
 */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { Envelope } from "@corral/domain/run/RunEvent"
import { useInfiniteQuery } from "@tanstack/react-query"
import { useVirtualizer } from "@tanstack/react-virtual"
import { type ReactNode, memo, useEffect, useMemo, useRef, useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { Clipped } from "../markdown/Clipped.tsx"
import { visibleLine, visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Loading } from "../ui/ListStates.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { VirtualList } from "./VirtualList.tsx"
import { reviewMessages } from "./messages.ts"
import "./log.css"
import "./review.css"

/** What a reader looks for, most telling first. A name that is not listed follows, in the order of the payload. */
const telling = ["title", "label", "text", "command", "path", "message", "state", "decision", "tool"]

/** Version of the payload, and ids that only connect events. */
const isNoise = (name: string): boolean => name === "v" || /(?:^i|I)d$/.test(name)

const MAX_NAME = 60
const MAX_VALUE = 160
const MAX_PARTS = 6

const shown = (value: unknown): string =>
  typeof value === "string" ? value.slice(0, MAX_VALUE) : JSON.stringify(value).slice(0, MAX_VALUE)

const rankOf = (name: string): number => {
  const at = telling.indexOf(name)
  return at === -1 ? telling.length : at
}

/** `I'll look · channel: text`: the most telling value alone, others with their names. */
export const payloadSummary = (payload: Readonly<Record<string, unknown>>): string =>
  Object.entries(payload)
    .filter(([name, value]) => value !== undefined && !isNoise(name))
    .toSorted(([a], [b]) => rankOf(a) - rankOf(b))
    .slice(0, MAX_PARTS)
    .map(([name, value], at) =>
      at === 0 && rankOf(name) < telling.length ? shown(value) : `${name.slice(0, MAX_NAME)}: ${shown(value)}`
    )
    .join(" · ")

/** Characters of the payload on the line. */
const SUMMARY = 200

interface LogEventProps {
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

/** One event of a log: its number, time and type on a line, and its JSON below it if it is open. */
const LogEvent = memo(({ event, isOpen, onToggle }: LogEventProps) => {
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

const PAGE_SIZE = 200
/** Lines before the end of the list at which the next page loads. */
const AHEAD = 40

const useLog = ({ id: runId, lastSeq }: HubRun) => {
  const query = useInfiniteQuery({
    // Not a key of `runs`: hints about the run must not load the whole log again.
    queryKey: ["run-log", runId],
    queryFn: ({ pageParam, signal }) =>
      hubApi.runs.events({ params: { id: runId }, query: { after: pageParam, limit: PAGE_SIZE }, signal }),
    initialPageParam: 0,
    // The end of the log moves while the run is in progress.
    getNextPageParam: ({ items }, _, after) => {
      const last = items.at(-1)?.seq ?? after
      return items.length > 0 && last < lastSeq ? last : undefined
    },
    refetchOnWindowFocus: false,
    gcTime: 0
  })
  const pages = query.data?.pages
  const events = useMemo(() => pages?.flatMap(({ items }) => items) ?? [], [pages])
  return { query, events }
}

interface RowsProps {
  readonly events: ReadonlyArray<Envelope>
  /** Loads the next page. Undefined if there is none, or if it is loading. */
  readonly more: (() => void) | undefined
}

const LogRows = ({ events, more }: RowsProps) => {
  const messages = useMessages(reviewMessages)
  const scroller = useRef<HTMLDivElement>(null)
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set())
  const virtual = useVirtualizer<HTMLDivElement, Element>({
    count: events.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 28,
    getItemKey: (at) => events[at]?.seq ?? at,
    overscan: 20
  })
  const isNearEnd = (virtual.getVirtualItems().at(-1)?.index ?? -1) >= events.length - AHEAD
  useEffect(() => {
    if (isNearEnd) more?.()
  }, [isNearEnd, more])
  const toggle = (seq: number) => {
    const next = new Set(open)
    if (!next.delete(seq)) next.add(seq)
    setOpen(next)
  }
  return (
    <VirtualList
      label={messages.events}
      items={events}
      scroller={scroller}
      virtual={virtual}
      row={(event) => (
        <LogEvent event={event} isOpen={open.has(event.seq)} onToggle={() => toggle(event.seq)} />
      )}
    />
  )
}

interface LogTabProps {
  readonly run: HubRun
  readonly scope?: ReactNode
  /** Number of events that this console does not recognize. */
  readonly unknown?: number
}

export const LogTab = ({ run, scope, unknown = 0 }: LogTabProps) => {
  const messages = useMessages(reviewMessages)
  const { events, query } = useLog(run)
  const [type, setType] = useState("")
  const types = useMemo(() => [...new Set(events.map((event) => event.type))].sort(), [events])
  const shown = useMemo(
    () => (type === "" ? events : events.filter((event) => event.type === type)),
    [events, type]
  )
  const { fetchNextPage, hasNextPage, isFetching } = query
  const more = useMemo(
    () => (hasNextPage && !isFetching ? () => void fetchNextPage() : undefined),
    [fetchNextPage, hasNextPage, isFetching]
  )
  return (
    <>
      <div className="panel-bar">
        {scope}
        <label className="log-filter">
          <span className="hidden">{messages.eventType}</span>
          <select value={type} onChange={({ target }) => setType(target.value)}>
            <option value="">{messages.allEvents}</option>
            {types.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        <span className="quiet log-count">
          {hasNextPage ? messages.firstEvents(shown.length) : messages.eventCount(shown.length)}
          {unknown > 0 && ` · ${messages.unknownEvents(unknown)}`}
        </span>
      </div>
      <RefusalNote error={query.error} again={() => void query.refetch()} />
      {query.isLoading ? <Loading /> : <LogRows key={type} events={shown} more={more} />}
    </>
  )
}
