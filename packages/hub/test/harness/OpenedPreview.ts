import type { PreviewId, RunId } from "@corral/domain/identity/Ids"

/** Answer of an Edge that opens a preview, as the link carries it. */
export const openedPreviewOf = (id: PreviewId, runId: RunId, workspace: string) => ({
  id,
  runId,
  workspace,
  title: "The page",
  source: { kind: "port", port: 5173 },
  state: "ready",
  createdAt: "2026-11-21T12:00:00.000Z",
  expiresAt: "2026-11-21T13:00:00.000Z",
  url: `http://127.0.0.1:4000/?ticket=${"T".repeat(43)}`
})
