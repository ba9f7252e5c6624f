/** Transitions of questions: a person answers or declines them, and no one else. */
import type { InputAnswer } from "../input/InputRequest.ts"
import type { InputRequestId } from "../identity/Ids.ts"
import type { MachineInputOf, Transition } from "./MachineInput.ts"
import { draft } from "./RunEvent.ts"
import type { RunState } from "./RunState.ts"
import type { InputResponse } from "./RuntimeAdapter.ts"
import type { TransitionStep } from "./TransitionStep.ts"
import { startAnsweredTurn } from "./TurnTransitions.ts"

export const raiseQuestion = (
  step: TransitionStep,
  { expiresAt, inputId, request }: MachineInputOf<"InputRequested">
): Transition => {
  if (step.state.verdict !== undefined) {
    step.act({
      _tag: "Respond",
      inputId,
      response: { _tag: "Unanswered", reason: "The run is ending." }
    })
    return step.done()
  }
  step.ensureStarted({})
  const expiry = expiresAt === undefined ? {} : { expiresAt }
  if (step.append(draft("run.input.requested", { inputId, request, ...expiry }))) step.proceed()
  return step.done()
}

export const retractQuestion = (
  step: TransitionStep,
  { inputId, state }: MachineInputOf<"InputWithdrawn">
): Transition => {
  step.append(draft("run.input.resolved", { inputId, state }))
  step.release()
  return step.done()
}

export const expireQuestion = (step: TransitionStep, inputId: InputRequestId): Transition => {
  step.leaveUnanswered(inputId, "expired", "The question expired before anyone answered.")
  step.release()
  return step.done()
}

const responseTo = (answer: InputAnswer, endsRun: boolean): InputResponse => {
  const { comment } = answer
  if ("decline" in answer) return { _tag: "Unanswered", reason: comment ?? "The user did not answer." }
  if ("answers" in answer) return { _tag: "Answered", answers: answer.answers, comment }
  return answer.approve
    ? { _tag: "PlanApproved", mode: answer.mode, comment, endsRun }
    : { _tag: "PlanReturned", comment }
}

export const resolveQuestion = (step: TransitionStep, input: MachineInputOf<"InputAnswered">): Transition => {
  const { answer, by, endsRun, inputId, origin, shown } = input
  const request = step.state.pendingInputs.get(inputId)
  if (request === undefined) return refuseAnswer(step.state, inputId)
  const isDeclined = "decline" in answer
  step.append(
    draft("run.input.resolved", {
      inputId,
      state: isDeclined ? "declined" : "answered",
      ...shown,
      ...("approve" in answer ? { approved: answer.approve } : {}),
      ...("approve" in answer && answer.mode !== undefined ? { mode: answer.mode } : {}),
      ...(origin === undefined ? {} : { origin }),
      ...(by === undefined ? {} : { by })
    })
  )
  step.act({ _tag: "Respond", inputId, response: responseTo(answer, endsRun) })
  if (endsRun && "approve" in answer && answer.approve) {
    step.conclude({ _tag: "Completed", text: request.plan })
    step.settle("the plan was approved", "stopped")
    step.act({ _tag: "Stop" })
    return step.done()
  }
  if (request.startsTurn === true && !isDeclined) return startAnsweredTurn(step)
  step.release()
  return step.done()
}

/** An answer to a question that is not open. */
export const refuseAnswer = (state: RunState, inputId: InputRequestId): Transition => {
  const resolution = state.resolvedInputs.get(inputId)
  const code =
    resolution === undefined
      ? "not_found"
      : resolution === "expired"
        ? "input_expired"
        : "input_already_resolved"
  return [state, [{ _tag: "Refuse", code }]]
}
