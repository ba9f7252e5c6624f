/** Previews of a run, newest first. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useInfiniteQuery } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { useMessages } from "../text/Language.tsx"
import { Loading } from "../ui/Loading.tsx"
import { MoreButton } from "../ui/ListMore.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { PreviewView } from "./PreviewView.tsx"
import { reviewMessages } from "./messages.ts"
import type { PreviewBlock } from "@corral/domain/run/RunBlock"
import type { Envelope } from "@corral/domain/run/RunEvent"
import { hubApi } from "../api/Hub.ts"
import "./review.css"

const PAGE_SIZE = 200
const MOST_PAGES = 25

interface PreviewPage {
  readonly previews: ReadonlyArray<PreviewBlock>
  /** The last event that was read, if there are more. */
  readonly next: number | undefined
}

const previewOf = ({ createdAt: at, payload, seq, type }: Envelope): ReadonlyArray<PreviewBlock> => {
  const { expiresAt, previewId, title } = payload
  if (type !== "run.preview.ready" || typeof previewId !== "string" || typeof title !== "string") return []
  const end = typeof expiresAt === "string" ? expiresAt : undefined
  return [{ kind: "preview", seq, at, previewId, title, expiresAt: end }]
}

/** Previews of a run, read from its log: the Hub has no list of them. Bounded in pages, so that a long log is read in steps. */
const readPreviews = async (runId: HubRun["id"], from: number, signal: AbortSignal): Promise<PreviewPage> => {
  const previews: Array<PreviewBlock> = []
  let after = from
  for (let page = 0; page < MOST_PAGES; page++) {
    const query = { after, limit: PAGE_SIZE }
    const { items, nextCursor } = await hubApi.runs.events({ params: { id: runId }, query, signal })
    previews.push(...items.flatMap(previewOf))
    if (nextCursor === null) return { previews, next: undefined }
    after = Number(nextCursor)
  }
  return { previews, next: after }
}

interface Props {
  readonly run: HubRun
  readonly scope?: ReactNode
}

export const PreviewTab = ({ run, scope }: Props) => {
  const messages = useMessages(reviewMessages)
  const query = useInfiniteQuery({
    queryKey: ["runs", run.id, "previews"],
    queryFn: ({ pageParam, signal }) => readPreviews(run.id, pageParam, signal),
    initialPageParam: 0,
    getNextPageParam: ({ next }) => next
  })
  const previews = query.data?.pages.flatMap((page) => page.previews).toReversed() ?? []
  return (
    <>
      {scope !== undefined && <div className="panel-bar">{scope}</div>}
      <div className="panel-content">
        {query.isLoading && <Loading />}
        <RefusalNote error={query.error} again={() => void query.refetch()} />
        {query.isSuccess && previews.length === 0 && <p className="panel-empty">{messages.noPreviews}</p>}
        {previews.map((block) => (
          <PreviewView
            key={block.previewId}
            block={block}
            runId={run.id}
            projectId={run.projectId}
            targetId={run.targetId}
          />
        ))}
        {query.hasNextPage && (
          <MoreButton
            label={messages.morePreviews}
            isLoading={query.isFetchingNextPage}
            onMore={() => void query.fetchNextPage()}
          />
        )}
      </div>
    </>
  )
}
