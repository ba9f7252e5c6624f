/**
 * Pauses and resumes of a live run. A pause freezes its control group, then the log says so. A resume is in the log before the processes continue.
 *
 * Guarantees: one freeze at a time; requests in the meantime share its result. A run that is ending is never paused.
 * Does not: freeze, or stop the clocks. `RunActor` does.
 */
import { pauseRefusal, type PauseRefusalReason } from "@corral/domain/run/RunPause"
import type { KernelState } from "./KernelState.ts"
import type { PauseRequest, RunMessageOf } from "./RunMessage.ts"

/** Why the run cannot be paused now; `undefined` if it can. */
const refusalOf = ({ program, recorder }: KernelState): PauseRefusalReason | undefined => {
  if (recorder.terminal) return "ended"
  if (recorder.state.verdict !== undefined) return "ending"
  if (program === undefined) return "not_started"
  if (program.isGone) return "ending"
  return program.canFreeze ? undefined : "no_control_group"
}

/** Requests a freeze after this turn, or joins the one in progress, unless the run is paused already. */
export const requestPause = (kernel: KernelState, message: PauseRequest): void => {
  const refusal = refusalOf(kernel)
  if (refusal !== undefined) return kernel.turn.fail(message.reply, pauseRefusal(refusal))
  if (kernel.recorder.state.paused === true) return kernel.turn.succeed(message.reply, undefined)
  kernel.pauses.push(message)
  if (kernel.pauses.length === 1) kernel.turn.freezes = true
}

export const requestResume = (kernel: KernelState, { by, reason, reply }: PauseRequest): void => {
  kernel.apply({ _tag: "ResumeRequested", by, reason })
  kernel.turn.succeed(reply, undefined)
}

/** The end of a freeze. The run may have ended meanwhile. */
export const endFreeze = (kernel: KernelState, { isFrozen }: RunMessageOf<"FreezeEnded">): void => {
  const waiting = kernel.pauses.splice(0)
  const refusal = refusalOf(kernel) ?? (isFrozen ? undefined : "freeze_failed")
  const [first] = waiting
  if (refusal === undefined && first !== undefined)
    kernel.apply({ _tag: "Frozen", by: first.by, reason: first.reason })
  for (const { reply } of waiting) {
    if (refusal === undefined) kernel.turn.succeed(reply, undefined)
    else kernel.turn.fail(reply, pauseRefusal(refusal))
  }
}
