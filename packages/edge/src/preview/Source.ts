/** What stands behind a preview. It is asked only what the gate has let through. */
import type { Effect } from "effect"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { refuseRequest, type HttpRefusal } from "@corral/service/http/Refusal"
import type { RequestId } from "@corral/domain/identity/Ids"
import type { PreviewKind } from "./ContentPolicy.ts"

/** One request and the id it is refused with. */
export interface Asked {
  readonly request: IncomingMessage
  readonly requestId: RequestId
}

export interface Source {
  readonly kind: PreviewKind
  /** Answers. Interrupted when the client goes or the preview is closed. `port` is the preview's own. */
  readonly serve: (asked: Asked & { readonly response: ServerResponse }, port: number) => Effect.Effect<void>
  /** Answers an upgrade, and carries it until either side ends. */
  readonly upgrade: (
    asked: Asked & { readonly socket: Duplex; readonly head: Buffer },
    port: number
  ) => Effect.Effect<void>
  /** Whether it can be asked now. */
  readonly reachable: Effect.Effect<boolean>
}

/** Refuses where nothing has been answered yet; else there is only the connection to end. */
export const refuse = (response: ServerResponse, refusal: HttpRefusal, requestId: RequestId): void => {
  if (response.headersSent) response.destroy()
  else refuseRequest(response, refusal, requestId)
}
