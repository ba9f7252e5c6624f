/**
 * Pause of a live run: its control group is frozen, then the log says so. A resume is in the log before the processes continue.
 *
 * Guarantees: one freeze at a time; requests in the meantime share its result. A run that is ending is never paused.
 * Does not: stop the clocks. `RunActor` adjusts them after each batch.
 */
import { pauseRefusal, type PauseRefusalReason } from "@corral/domain/run/RunPause"
import { isTerminal } from "@corral/domain/run/RunEnd"
import type { RunState } from "@corral/domain/run/RunState"
import { Deferred, Effect, type Scope } from "effect"
import type { BatchState } from "./BatchState.ts"
import type { PauseRequest, RunMessageOf } from "./RunMessage.ts"
import type { RunProcess } from "./RunProcess.ts"
import type { RunSession } from "./RunSession.ts"

/** Why a run in that state cannot be paused; `undefined` if it can. */
const refusalOf = (state: RunState, process: RunProcess | undefined): PauseRefusalReason | undefined => {
  if (state.status !== undefined && isTerminal(state.status)) return "ended"
  if (state.verdict !== undefined) return "ending"
  if (process === undefined) return "not_started"
  if (process.child.isGone) return "ending"
  return process.freezer === undefined ? "no_control_group" : undefined
}

/** Requests a freeze after this batch, unless the run is paused already. */
export const requestPause = (batch: BatchState, message: PauseRequest): void => {
  const { process, recorder } = batch.context
  const refusal = refusalOf(recorder.state, process())
  if (refusal !== undefined) batch.replies.push(Deferred.fail(message.reply, pauseRefusal(refusal)))
  else if (recorder.state.paused === true) batch.replies.push(Deferred.succeed(message.reply, undefined))
  else batch.pauses.push(message)
}

export const requestResume = (batch: BatchState, { by, reason, reply }: PauseRequest): void => {
  batch.apply({ _tag: "ResumeRequested", by, reason })
  batch.replies.push(Deferred.succeed(reply, undefined))
}

/** The end of a freeze. The run may have ended meanwhile. */
export const endFreeze = (batch: BatchState, message: RunMessageOf<"FreezeEnded">): void => {
  const { process, recorder } = batch.context
  const waiting = process()?.freezes.splice(0) ?? []
  const refusal = refusalOf(recorder.state, process()) ?? (message.isFrozen ? undefined : "freeze_failed")
  const [first] = waiting
  if (refusal === undefined && first !== undefined)
    batch.apply({ _tag: "Frozen", by: first.by, reason: first.reason })
  for (const { reply } of waiting) batch.replies.push(answer(reply, refusal))
}

const answer = (
  reply: PauseRequest["reply"],
  refusal: PauseRefusalReason | undefined
): Effect.Effect<boolean> =>
  refusal === undefined ? Deferred.succeed(reply, undefined) : Deferred.fail(reply, pauseRefusal(refusal))

/** Freezes the run's processes for a pause, or joins a freeze that is in progress. */
export const freezeRun = (
  { post, process }: RunSession,
  message: PauseRequest
): Effect.Effect<unknown, never, Scope.Scope> => {
  if (process?.freezer === undefined) return Deferred.fail(message.reply, pauseRefusal("ending"))
  process.freezes.push(message)
  if (process.freezes.length > 1) return Effect.void
  return Effect.forkScoped(
    Effect.map(process.freezer.freeze(), (isFrozen) => post({ _tag: "FreezeEnded", isFrozen }))
  )
}
