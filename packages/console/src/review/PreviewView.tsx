/**
 * Previews of a run, newest first, each with a button that requests its URL from the Hub and opens it in a new tab.
 *
 * The URL works only in a browser on the device itself. The Hub transfers no content of the preview.
 */
import { CorralError } from "@corral/client/http/CorralError"
import type { OpenedPreview } from "@corral/domain/device/Preview"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { PreviewBlock } from "@corral/domain/run/RunBlock"
import type { Envelope } from "@corral/domain/run/RunEvent"
import { useInfiniteQuery, useMutation } from "@tanstack/react-query"
import { type ReactNode, useEffect } from "react"
import { hubApi } from "../api/Hub.ts"
import { useCanWork, useTargetName } from "../api/ProjectsAndTargets.ts"
import { useRemainingTime } from "../approval/Countdown.tsx"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Loading, MoreButton } from "../ui/ListStates.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { reviewMessages } from "./messages.ts"
import "./review.css"

/** Lifetime of a URL. */
const URL_LIFETIME_MS = 60_000

/** Allowed URLs: loopback only, because the URL comes from the device. */
const isPreviewUrl = (url: string): boolean =>
  /^http:\/\/127\.0\.0\.1:[1-9][0-9]{0,4}\/\?ticket=[A-Za-z0-9_-]{43}$/.test(url)

interface Props {
  readonly block: PreviewBlock
  readonly runId: HubRun["id"]
  readonly projectId: HubRun["projectId"] | undefined
  readonly targetId: HubRun["targetId"]
}

export const PreviewView = ({
  block: { expiresAt, previewId, title },
  projectId,
  runId,
  targetId
}: Props) => {
  const messages = useMessages(reviewMessages)
  const mayWork = useCanWork(projectId)
  const device = visibleLine(useTargetName(targetId) ?? "", 60)
  const isOver = useRemainingTime(expiresAt ?? "") <= 0
  const { data, error, isPending, mutate, reset } = useMutation({
    mutationFn: async () => {
      // The id comes from the event. The Hub validates it.
      const params = { id: runId, previewId: previewId as OpenedPreview["id"] }
      const { url } = await hubApi.runs.openPreview({ params })
      if (!isPreviewUrl(url)) throw new CorralError("internal", { message: messages.previewNoAddress })
      // A tab without access to this one. The browser does not report a blocked tab, so the link remains for that case.
      window.open(url, "_blank", "noopener,noreferrer")
      return url
    }
  })
  useEffect(() => {
    if (data === undefined) return undefined
    const timer = setTimeout(reset, URL_LIFETIME_MS)
    return () => clearTimeout(timer)
  }, [data, reset])
  const code = error instanceof CorralError ? error.code : undefined
  const isClosed = isOver || code === "not_found"
  return (
    <section className="preview" aria-label={`${messages.preview}: ${visibleLine(title)}`}>
      <p className="preview-head">
        <Icon name="network" />
        <span className="preview-title">
          <span className="hidden">{messages.preview}: </span>
          {visibleLine(title)}
        </span>{" "}
        {!isClosed && (
          <button
            type="button"
            className="button small"
            disabled={!mayWork || isPending}
            onClick={() => mutate()}
          >
            {messages.openPreview}
          </button>
        )}
      </p>
      <p className="quiet">
        {isClosed ? messages.previewClosed : messages.previewWhere(device)}
        {!isClosed && !mayWork && ` ${messages.previewMembers}`}
      </p>
      <div role="status">
        {data !== undefined && !isClosed && (
          <p>
            {messages.previewBlocked}{" "}
            <a href={data} target="_blank" rel="noopener noreferrer">
              {messages.previewLink}
            </a>
          </p>
        )}
        {code === "target_offline" && <p className="preview-offline">{messages.previewOffline(device)}</p>}
      </div>
      {!isClosed && code !== "target_offline" && <RefusalNote error={error} />}
    </section>
  )
}

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

interface TabProps {
  readonly run: HubRun
  readonly scope?: ReactNode
}

/** All previews of a run, newest first. */
export const PreviewTab = ({ run, scope }: TabProps) => {
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
