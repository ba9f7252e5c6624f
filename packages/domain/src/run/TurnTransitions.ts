/** Transitions of turns and background work: an outcome is held until nothing is left that it waits for. */
import { firstCharacters } from "../text/Cut.ts"
import type { MachineInputOf, Transition, TransitionAction } from "./MachineInput.ts"
import { outcomeAfter } from "./Rejection.ts"
import type { RunFailure } from "./Run.ts"
import { draft } from "./RunEvent.ts"
import { canConclude, isSettling, type TransitionStep } from "./TransitionStep.ts"
import { MAX_OUTSTANDING, MAX_WORK_TITLE } from "./Work.ts"

const leave: ReadonlyArray<TransitionAction> = [{ _tag: "Leave" }]

export const reportOutcome = (step: TransitionStep, input: MachineInputOf<"OutcomeReported">): Transition => {
  const { verdict } = step.state
  if (verdict !== undefined) {
    // The run is being stopped and the runtime has finished: give the process time to exit. Its last report has all that was used.
    const { usage = verdict.usage } = input.outcome
    return [{ ...step.state, verdict: usage === undefined ? verdict : { ...verdict, usage } }, leave]
  }
  const outcome = outcomeAfter(step.state.rejection, input.outcome)
  if (outcome._tag !== "Cancelled" && !canConclude(step.state)) {
    step.ensureStarted({})
    step.hold(outcome)
    return step.done()
  }
  step.conclude(outcome)
  step.settle(input.reason ?? "the runtime ended its turn", "stopped")
  step.act({ _tag: "Leave" })
  return step.done()
}

/** The title within its bound. `…` marks a cut. */
const shortTitle = (title: string): string =>
  title.length <= MAX_WORK_TITLE ? title : `${firstCharacters(title, MAX_WORK_TITLE - 1)}…`

const tooMuchWork: RunFailure = {
  code: "work_unfinished",
  message: `The runtime started more than ${MAX_OUTSTANDING} works in the background at a time.`,
  details: { limit: MAX_OUTSTANDING }
}

/** A run whose work is not all known could complete before the work is done. */
const failWithTooMuchWork = (step: TransitionStep): Transition => {
  step.conclude({ _tag: "Failed", error: tooMuchWork })
  step.settle("the runtime started too much background work")
  step.act({ _tag: "Stop" })
  return step.done()
}

export const changeWork = (step: TransitionStep, input: MachineInputOf<"WorkChanged">): Transition => {
  const { continues, id: workId, kind, parentCallId, state, title } = input
  if (step.state.verdict !== undefined) return step.done()
  step.ensureStarted({})
  if (state === "running") {
    const { outstanding } = step.state
    if (outstanding.size >= MAX_OUTSTANDING && !outstanding.has(workId)) return failWithTooMuchWork(step)
    const parent = parentCallId === undefined ? {} : { parentCallId }
    step.append(draft("run.work.started", { workId, kind, title: shortTitle(title), ...parent }))
    return step.done()
  }
  if (continues === true) step.state = { ...step.state, isTurnDue: true }
  step.append(draft("run.work.ended", { workId, state }))
  step.release()
  return step.done()
}

export const startTurn = (
  step: TransitionStep,
  { by, ended }: Omit<MachineInputOf<"TurnStarted">, "_tag">
): Transition => {
  const { turn, verdict } = step.state
  if (verdict !== undefined) return step.done()
  if (ended !== undefined) step.hold(ended)
  // A message that waits for the end of the turn in progress starts none yet.
  if (by === "message" && !step.state.isIdle) return step.done()
  step.state = { ...step.state, held: undefined, isTurnDue: undefined }
  step.append(draft("run.turn.started", { turn: turn + 1, by }))
  return step.done()
}

/** An answer starts the turn that follows the one that asked. If that one has not ended yet, its outcome waits for the next. */
export const startAnsweredTurn = (step: TransitionStep): Transition => {
  if (step.state.isIdle) return startTurn(step, { by: "message" })
  step.state = { ...step.state, isTurnDue: true }
  return step.done()
}

/** No further turn came in time: the held outcome counts. */
export const settleTurn = (step: TransitionStep): Transition => {
  if (!isSettling(step.state)) return step.done()
  step.state = { ...step.state, isTurnDue: undefined }
  step.release()
  return step.done()
}

export const finish = (step: TransitionStep, { by }: MachineInputOf<"FinishRequested">): Transition => {
  const { held, outstanding, verdict } = step.state
  if (verdict !== undefined) return step.done()
  if (held === undefined) return [step.state, [{ _tag: "Refuse", code: "turn_active" }]]
  const stopped = outstanding.values().map(({ title }) => title)
  const isStopped = held._tag === "Completed" && stopped.length > 0
  step.conclude(isStopped ? { ...held, stopped } : held, by)
  step.settle("the run was finished", "stopped")
  step.act({ _tag: "Leave" })
  return step.done()
}
