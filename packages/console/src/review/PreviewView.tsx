/**
 * Preview of a run, with a button that requests its URL from the Hub and opens it in a new tab.
 *
 * The URL works only in a browser on the device itself. The Hub transfers no content of the preview.
 */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { OpenedPreview } from "@corral/domain/device/Preview"
import { useMutation } from "@tanstack/react-query"
import { useEffect } from "react"
import { CorralError } from "@corral/client/http/CorralError"
import { hubApi } from "../api/Hub.ts"
import { useCanWork, useTargetName } from "../api/ProjectsAndTargets.ts"
import { useRemainingTime } from "../approval/Countdown.tsx"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import type { PreviewBlock } from "@corral/domain/run/RunBlock"
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
