/** Log of a run as text, page by page, including events that the timeline does not show. */
import type { Envelope } from "@corral/domain/run/RunEvent"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useInfiniteQuery } from "@tanstack/react-query"
import { memo } from "react"
import { hubApi } from "../api/Hub.ts"
import { visibleText } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Loading } from "../ui/Loading.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { runMessages } from "./messages.ts"
import "./run.css"
import "../markdown/markdown.css"

/** Maximum number of characters shown per event. */
const LONGEST = 4_000

const Line = memo(({ event }: { readonly event: Envelope }) => {
  const { createdAt, payload, seq, type } = event
  const text = JSON.stringify(payload)
  return (
    <li>
      <code>
        <span className="quiet">
          {seq} {createdAt}
        </span>{" "}
        <strong>{visibleText(type)}</strong> {visibleText(text.slice(0, LONGEST))}
        {text.length > LONGEST && <em> … {text.length.toLocaleString("en")}</em>}
      </code>
    </li>
  )
})

export const RawLog = ({ runId, unknown }: { readonly runId: HubRun["id"]; readonly unknown: number }) => {
  const messages = useMessages(runMessages)
  const query = useInfiniteQuery({
    queryKey: ["run-log", runId],
    queryFn: ({ pageParam, signal }) =>
      hubApi.runs.events({ params: { id: runId }, query: { after: pageParam, limit: 100 }, signal }),
    initialPageParam: 0,
    getNextPageParam: ({ nextCursor }) => (nextCursor === null ? undefined : Number(nextCursor)),
    gcTime: 0
  })
  const events = query.data?.pages.flatMap(({ items }) => items) ?? []
  return (
    <>
      <p className="quiet">
        {messages.rawHint} {unknown > 0 && <strong>{messages.unknown(unknown)}.</strong>}
      </p>
      <RefusalNote error={query.error} again={() => void query.refetch()} />
      {query.isLoading ? (
        <Loading />
      ) : (
        <ol className="raw" tabIndex={0} aria-label={messages.raw}>
          {events.map((event) => (
            <Line key={event.seq} event={event} />
          ))}
        </ol>
      )}
      {query.hasNextPage && (
        <button
          type="button"
          className="button more"
          disabled={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          {messages.more}
        </button>
      )}
    </>
  )
}
