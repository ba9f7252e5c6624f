/** Previews of a run, newest first. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useInfiniteQuery } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { useMessages } from "../text/Language.tsx"
import { Loading } from "../ui/Loading.tsx"
import { MoreButton } from "../ui/MoreButton.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { PreviewView } from "./PreviewView.tsx"
import { readPreviews } from "./readPreviews.ts"
import { reviewMessages } from "./messages.ts"
import "./review.css"

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
