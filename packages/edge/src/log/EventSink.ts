/**
 * Receiver of every committed event, in the embedding program; none by default. Replaceable.
 *
 * Guarantees: batches of all runs arrive one at a time, in the order in which they became durable. A batch is repeated until the sink
 * succeeds, with growing pauses, so a sink sees it at least once. A slow or failing sink delays only itself: runs do not wait for it, and it
 * holds no more than about 256 KiB of log in memory, because it reads the log. When the Edge stops, the sink receives the last events of the
 * runs, for up to two seconds.
 *
 * Does not: keep events for the sink beyond retention, or deliver damaged events.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import { Context, type Effect } from "effect"

/** Events of one run that were committed together, in the order of their `seq`. */
export interface SinkBatch {
  /** Place among all batches of the store. It only grows; store it to continue after it. */
  readonly position: number
  readonly runId: RunId
  /** Each event as JSON, as the log has it. `decodeEvent` reads it. */
  readonly lines: ReadonlyArray<string>
}

export interface EventSink {
  /** Position of the last batch that the sink has processed. By default it receives what is committed after the start of the Edge. */
  readonly after?: number | undefined
  /** Succeeds when the batch is processed. A failure or a defect repeats the batch. */
  readonly receive: (batch: SinkBatch) => Effect.Effect<void, { readonly message: string }>
}

export const EventSink = Context.Reference<EventSink | undefined>("corral/edge/EventSink", {
  defaultValue: () => undefined
})
