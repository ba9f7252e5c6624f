/**
 * Event stream of one run at an Edge or a Hub, across lost connections.
 *
 * Guarantees: each event once and in order of `seq`. A lost connection is opened again after the last event. The stream ends after the
 * run's last event. A refusal (`unauthorized`, `permission_denied`, `not_found`, …) fails the stream.
 * Does not: continue over events that retention has deleted, unless `onGap` accepts that.
 */
import {
  EventSequence,
  envelopeOf,
  type DecodedEvent,
  type MissingEvents,
  type SequencedEvent
} from "@corral/domain/run/EventSequence"
import { isTerminal, isTerminalType } from "@corral/domain/run/RunEnd"
import { CorralError } from "../http/CorralError.ts"
import { eventsOfBody } from "./EventBody.ts"
import { Reconnection, type ReconnectionOptions } from "./Reconnection.ts"

/** A run as far as its stream reads it: the outcome where its events are no longer available. */
export interface RunPosition {
  readonly state: string
  readonly lastSeq: number
  readonly updatedAt: string
}

/** Service of one run's events. */
export interface RunEventSource<Run extends RunPosition> {
  readonly open: (after: number, signal: AbortSignal | undefined) => Promise<Response>
  readonly run: (signal: AbortSignal | undefined) => Promise<Run>
}

export interface RunEventOptions<Run> extends ReconnectionOptions {
  /** The last `seq` that the caller has; 0 by default. */
  readonly after?: number
  /**
   * Accepts that events are missing: retention has deleted them. `run` has the current state, and the stream continues after its last event.
   * Without this function the stream fails with `replay_gap`.
   */
  readonly onGap?: (missing: MissingEvents, run: Run) => void | Promise<void>
}

/** Decoder of one parsed event; `undefined` for input that is not an envelope. */
export type EventDecoder = (input: unknown) => DecodedEvent | undefined

/** Events in the groups in which they arrive. */
export async function* runEventBatches<Run extends RunPosition>(
  source: RunEventSource<Run>,
  decode: EventDecoder,
  options: RunEventOptions<Run>
): AsyncGenerator<ReadonlyArray<SequencedEvent>> {
  const { after = 0, onGap, signal } = options
  const sequence = new EventSequence(decode, after)
  const reconnection = new Reconnection(options)
  const skipGap = async (error: CorralError): Promise<void> => {
    if (onGap === undefined) throw error
    const run = await source.run(signal)
    const missing = sequence.skipTo(run.lastSeq, run.updatedAt)
    if (missing !== undefined) await onGap(missing, run)
  }
  /** Whether the run has ended and all of its events have been read. */
  const isOver = async (): Promise<boolean> => {
    const { lastSeq, state } = await source.run(signal)
    return isTerminal(state) && sequence.lastSeq >= lastSeq
  }
  for (;;) {
    let error: unknown
    try {
      const { body } = await source.open(sequence.lastSeq, signal)
      reconnection.connected()
      for await (const events of body === null ? [] : eventsOfBody(body, () => reconnection.markHeard())) {
        const batch = events.flatMap(({ data }) => sequence.next(data) ?? [])
        const end = batch.findIndex(({ decoded }) => isTerminalType(envelopeOf(decoded).type))
        if (end !== -1) return yield batch.slice(0, end + 1)
        if (batch.length > 0) yield batch
      }
      if (await isOver()) return
    } catch (cause) {
      error = cause
    }
    if (error instanceof CorralError && error.code === "replay_gap") await skipGap(error)
    else await reconnection.next(error)
  }
}
