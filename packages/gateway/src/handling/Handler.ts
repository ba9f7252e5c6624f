/** What is done with an event, once it is in our words. It may be called again for an event that it has handled: `event.key` tells. */
import type { IntegrationEvent } from "@corral/domain/Integration"
import { Data, type Effect } from "effect"

/** `permanent`: trying again does not help. The message goes to the log and the dead letters: it repeats nothing of the event. */
export class HandlerFailed extends Data.TaggedError("HandlerFailed")<{
  readonly message: string
  readonly permanent: boolean
}> {}

export type Handler = (event: IntegrationEvent) => Effect.Effect<void, HandlerFailed>
