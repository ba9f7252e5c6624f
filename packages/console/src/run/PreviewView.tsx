/**
 * A preview in the timeline, and the way to open it: the Hub is asked for an address, and a new tab goes there. The address is one of
 * the device's own, so that it leads somewhere in a browser on the device alone; nothing of what is shown comes through the Hub.
 */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { OpenedPreview } from "@corral/domain/device/Preview"
import { useMutation } from "@tanstack/react-query"
import { useEffect } from "react"
import { hubApi, HubRefusal } from "../api/Hub.ts"
import { useMayWork, useTargetName } from "../api/Known.ts"
import { useLeft } from "../approval/Countdown.tsx"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import type { PreviewBlock } from "./Block.ts"
import { runMessages } from "./messages.ts"
import "../markdown/markdown.css"
import "./run.css"

/** For how long an address is worth something. */
const ADDRESS_MS = 60_000

/** A device says it, and a device must not lead anybody anywhere else. */
const isAddress = (url: string): boolean =>
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
  const words = useMessages(runMessages)
  const mayWork = useMayWork(projectId)
  const device = visibleLine(useTargetName(targetId) ?? "", 60)
  const isOver = useLeft(expiresAt ?? "") <= 0
  const { data, error, isPending, mutate, reset } = useMutation({
    mutationFn: async () => {
      // The event names it; the Hub looks at it.
      const params = { id: runId, previewId: previewId as OpenedPreview["id"] }
      const { url } = await hubApi.runs.openPreview({ params })
      if (!isAddress(url)) throw new HubRefusal("internal", words.previewNoAddress)
      // A tab that knows nothing of this one. Whether there is one is not told: the link is for where it was blocked.
      window.open(url, "_blank", "noopener,noreferrer")
      return url
    }
  })
  useEffect(() => {
    if (data === undefined) return undefined
    const timer = setTimeout(reset, ADDRESS_MS)
    return () => clearTimeout(timer)
  }, [data, reset])
  const code = error instanceof HubRefusal ? error.code : undefined
  const isClosed = isOver || code === "not_found"
  return (
    <section className="preview" aria-label={`${words.preview}: ${visibleLine(title)}`}>
      <p className="line">
        <span className="quiet">{words.preview}</span> {visibleLine(title)}{" "}
        {!isClosed && (
          <button
            type="button"
            className="button small"
            disabled={!mayWork || isPending}
            onClick={() => mutate()}
          >
            {words.openPreview}
          </button>
        )}
      </p>
      <p className="line quiet">
        {isClosed ? words.previewClosed : words.previewWhere(device)}
        {!isClosed && !mayWork && ` ${words.previewMembers}`}
      </p>
      <div role="status">
        {data !== undefined && !isClosed && (
          <p className="line">
            {words.previewBlocked}{" "}
            <a href={data} target="_blank" rel="noopener noreferrer">
              {words.previewLink}
            </a>
          </p>
        )}
        {code === "target_offline" && <p className="line warning">{words.previewOffline(device)}</p>}
      </div>
      {!isClosed && code !== "target_offline" && <RefusalNote error={error} />}
    </section>
  )
}
