/** Upstream of a preview. It receives only admitted requests. */
import type { Effect } from "effect"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { refuseRequest, type HttpRefusal } from "@corral/service/http/Refusal"
import type { RequestId } from "@corral/domain/identity/Ids"
import type { PreviewKind } from "./ContentPolicy.ts"

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
