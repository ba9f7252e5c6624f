/** Events that Edges have pushed to a `LinkPeer`, by run, and how they came: how many pushes, how large, and how many at a time. */
import type { PushAck } from "@corral/domain/link/EdgeLink"
import type { RunId } from "@corral/domain/identity/Ids"
import type { Envelope } from "@corral/domain/run/RunEvent"
import { Effect } from "effect"

interface Batch {
  readonly runId: RunId
  readonly firstSeq: number
  readonly events: ReadonlyArray<string>
}

export class PushedEvents {
  /** Number of pushes, and of unanswered pushes at most. */
  pushes = 0
  maxInFlight = 0
  maxPushCharacters = 0
  /** Number of batches that came before earlier events of their run. */
  gaps = 0
  /** Awaited before each acknowledgement of a push. */
  beforeAck: () => Promise<void> = async () => {}
  readonly lines = new Map<RunId, Array<string>>()
  private inFlight = 0

  log(runId: RunId): ReadonlyArray<Envelope> {
    return (this.lines.get(runId) ?? []).map((line) => JSON.parse(line) as Envelope)
  }

  ackOf(runId: RunId): PushAck {
    return { runId, seq: this.lines.get(runId)?.length ?? 0 }
  }

  /** Stores a push; its acknowledgements come after `beforeAck`. */
  push(batches: ReadonlyArray<Batch>): Effect.Effect<ReadonlyArray<PushAck>> {
    this.pushes++
    this.maxInFlight = Math.max(this.maxInFlight, ++this.inFlight)
    const size = batches.flatMap(({ events }) => events).join("").length
    this.maxPushCharacters = Math.max(this.maxPushCharacters, size)
    const acks = batches.map((batch) => this.store(batch))
    return Effect.as(Effect.promise(this.beforeAck), acks).pipe(
      Effect.ensuring(Effect.sync(() => this.inFlight--))
    )
  }

  private store({ events, firstSeq, runId }: Batch): PushAck {
    const stored = this.lines.get(runId) ?? []
    if (firstSeq > stored.length + 1) {
      this.gaps++
      return { runId, seq: stored.length, refused: "conflict" }
    }
    stored.push(...events.slice(stored.length + 1 - firstSeq))
    this.lines.set(runId, stored)
    return { runId, seq: stored.length }
  }
}
