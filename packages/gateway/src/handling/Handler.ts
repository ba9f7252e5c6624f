/** What is done with an event, once it is in our words. It may be called again for an event that it has handled: `event.key` tells. */
import type { IntegrationEvent } from "@corral/domain/chat/Integration"
import { Data, type Effect } from "effect"
import type { Inbound } from "../platform/ChatPlatform.ts"

/** `permanent`: trying again does not help. The message goes to the log and the dead letters: it repeats nothing of the event. */
export class HandlerFailed extends Data.TaggedError("HandlerFailed")<{
  readonly message: string
  readonly permanent: boolean
  /** An earlier retry cannot help. */
  readonly retryAfterMs?: number | undefined
}> {}

/** `inbound` is for the platform, which may need it to answer. Nothing of it is sent elsewhere. */
export type Handler = (event: IntegrationEvent, inbound: Inbound) => Effect.Effect<void, HandlerFailed>
