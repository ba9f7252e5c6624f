/** Previews of a run, read from its log: the Hub has no list of them. Bounded in pages, so that a long log is read in steps. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { PreviewBlock } from "@corral/domain/run/RunBlock"
import type { Envelope } from "@corral/domain/run/RunEvent"
import { hubApi } from "../api/Hub.ts"

const PAGE_SIZE = 200
const MOST_PAGES = 25

export interface PreviewPage {
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

export const readPreviews = async (
  runId: HubRun["id"],
  from: number,
  signal: AbortSignal
): Promise<PreviewPage> => {
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
