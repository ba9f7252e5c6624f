/** The text of an event, as an Edge stores and pushes it. */
import { eventIds, type RunId } from "@corral/domain/identity/Ids"

export const benchLineOf = (runId: RunId, seq: number, type: string, payload: object): string =>
  JSON.stringify({
    id: eventIds(runId)(seq),
    seq,
    type,
    runId,
    agentId: "scripted",
    createdAt: new Date(1_790_000_000_000 + seq).toISOString(),
    payload: { v: 1, ...payload }
  })
