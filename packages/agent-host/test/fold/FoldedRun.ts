/** The fold of a run, from drafts of its events. */
import { eventIdOf, type RunId } from "@corral/domain/identity/Ids"
import { EventSequence } from "@corral/domain/run/EventSequence"
import { decodeReceivedEvent, type EventDraft } from "@corral/domain/run/RunEvent"
import { RunFold } from "../../src/fold/RunFold.ts"
import type { ChatAction } from "../../src/protocol/Actions.ts"

export const runId = "run_01K0000000000000000000000A" as RunId // has the shape

/** The actions for each event. */
export const foldedActions = (
  drafts: ReadonlyArray<EventDraft>,
  nameOf: (user: string) => string = (user) => user
): ReadonlyArray<ReadonlyArray<ChatAction>> => {
  const fold = new RunFold({ runId, nameOf, modes: ["ask"] })
  const sequence = new EventSequence(decodeReceivedEvent)
  return drafts.map(({ payload, type }, at) => {
    const seq = at + 1
    const createdAt = new Date(1_790_000_000_000 + seq * 1_000).toISOString()
    const event = sequence.nextOf({
      id: eventIdOf(runId, seq),
      seq,
      type,
      runId,
      createdAt,
      payload: { v: 1, ...payload }
    })
    if (event === undefined) throw new Error(`${type} is not valid`)
    return fold.apply(event)
  })
}
