/** Events of one run as a tail would give them, from typed drafts. */
import { eventIdOf, type RunId } from "@corral/domain/identity/Ids"
import { decodeEvent, draft, type EventType, type PayloadOf } from "@corral/domain/run/RunEvent"
import { Result } from "effect"
import type { TailedEvent } from "../../src/run/EventTail.ts"

export const runId = "run_01K00000000000000000000000" as RunId
export const approvalId = "apr_01K00000000000000000000000"

/** The frame that an Edge would send. */
export const frame = <T extends EventType>(seq: number, type: T, payload: PayloadOf<T>): string => {
  const event = draft(type, payload)
  return JSON.stringify({
    id: eventIdOf(runId, seq),
    seq,
    type: event.type,
    runId,
    agentId: "scripted",
    createdAt: "2026-01-01T00:00:00.000Z",
    payload: { v: 1, ...event.payload }
  })
}

export const tailed = (text: string): TailedEvent => ({
  text,
  read: Result.getOrThrow(decodeEvent(JSON.parse(text)))
})
