/** Handler of normalized events. It may be called again for a handled event, which has the same `event.key`. */
import type { IntegrationEvent } from "@corral/domain/chat/Integration"
import { Data, type Effect } from "effect"
import type { Inbound } from "../platform/ChatPlatform.ts"

/** `permanent`: a retry does not help. The message is logged and stored with the dead letter, so it contains nothing of the event. */
export class HandlerFailed extends Data.TaggedError("HandlerFailed")<{
  readonly message: string
  readonly permanent: boolean
  /** An earlier retry cannot help. */
  readonly retryAfterMs?: number | undefined
}> {}

/** `inbound` is sent only to its platform, which may need it for an answer. */
export type Handler = (event: IntegrationEvent, inbound: Inbound) => Effect.Effect<void, HandlerFailed>
