/** Upstream of a preview. It receives only admitted requests. */
import type { Effect } from "effect"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { type HttpRefusal, refuseRequest } from "@corral/service/http/Refusal"
import type { RequestId } from "@corral/domain/identity/Ids"

// Headers of every response of a preview. A page may load from and connect to its own origin only, may not be framed, and shares no
// browsing context with the page that opened it.
//
// Inline script and style are allowed, because dev servers and reports use them. `eval` is allowed to dev servers only, whose source maps need
// it.
// Does not: prevent a page from navigating away with data in the address. No policy can.

export type PreviewKind = "folder" | "port"

const policy = (port: number, kind: PreviewKind): string =>
  [
    "default-src 'self'",
    `script-src 'self' 'unsafe-inline'${kind === "port" ? " 'unsafe-eval' blob:" : ""}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "media-src 'self' data: blob:",
    kind === "port" ? `connect-src 'self' ws://127.0.0.1:${port}` : "connect-src 'self'",
    "worker-src 'self' blob:",
    "frame-src 'self'",
    "manifest-src 'self'",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'"
  ].join("; ")

/** Lower-case names. An upstream's headers with these names are replaced. */
export const protectionHeaders = (port: number, kind: PreviewKind): Readonly<Record<string, string>> => ({
  "cache-control": "no-store",
  "content-security-policy": policy(port, kind),
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-dns-prefetch-control": "off",
  "x-frame-options": "DENY"
})

/** A request, with the id for refusals. */
export interface PreviewRequest {
  readonly request: IncomingMessage
  readonly requestId: RequestId
}

export interface PreviewUpstream {
  readonly kind: PreviewKind
  /** Answers a request. Interrupted when the client disconnects or the preview closes. `port` is the preview's. */
  readonly serve: (
    incoming: PreviewRequest & { readonly response: ServerResponse },
    port: number
  ) => Effect.Effect<void>
  /** Answers an upgrade, and forwards data until either side ends. */
  readonly upgrade: (
    incoming: PreviewRequest & { readonly socket: Duplex; readonly head: Buffer },
    port: number
  ) => Effect.Effect<void>
  /** Whether the upstream is available. */
  readonly reachable: Effect.Effect<boolean>
}

/** Refuses a request. If a response has started, ends the connection instead. */
export const refusePreview = (response: ServerResponse, refusal: HttpRefusal, requestId: RequestId): void => {
  if (response.headersSent) response.destroy()
  else refuseRequest(response, refusal, requestId)
}
