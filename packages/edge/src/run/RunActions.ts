/** Actions of a run's actor, performed after earlier events are durable: answers approvals, ends the process. */
import { Effect, Fiber, type Scope } from "effect"
import * as Ladder from "../process/Termination.ts"
import type { RunAction } from "./RunRecorder.ts"
import type { RunSession } from "./RunSession.ts"

export const performAction = (
  session: RunSession,
  action: RunAction
): Effect.Effect<unknown, never, Scope.Scope> => {
  switch (action._tag) {
    case "Answer":
      return session.approvals.answer(action.approvalId, action.answer)
    case "Respond":
      return Effect.tap(session.inputs.answer(action.inputId, action.response), () =>
        Effect.sync(() => session.inputs.remove(action.inputId))
      )
    case "Leave":
      return leave(session)
    case "Stop":
      return stop(session)
    case "Thaw":
      return Effect.sync(() => session.process?.freezer?.thaw())
    case "Refuse":
      return Effect.void
  }
}

/** Lets a confined run make the change of a protected name that an answer allows. Before the runtime receives the answer. */
export const allowProtected = (
  { approvals, options: { protection } }: RunSession,
  action: RunAction
): void => {
  if (protection === undefined || action._tag !== "Answer") return
  const assessed = approvals.get(action.approvalId)?.assessed
  if (assessed !== undefined && approvals.allowsChanges(action.approvalId))
    protection.allow(assessed.request, action.answer)
}

/** The turn is over: the process is asked to leave by itself. */
const leave = (session: RunSession): Effect.Effect<unknown, never, Scope.Scope> => {
  const { isLeaving, isStopping, options, process } = session
  if (process === undefined) return Effect.void
  process.freezer?.release()
  if (isStopping || isLeaving) return Effect.sync(() => process.child.closeInput())
  session.isLeaving = true
  return Effect.forkScoped(Ladder.terminateAfterInput(process.ladder, options.times.leave))
}

/** Ends the process, or its queued start. */
const stop = (session: RunSession): Effect.Effect<unknown, never, Scope.Scope> => {
  if (session.isStopping) return Effect.void
  session.isStopping = true
  const { post, preparing, process } = session
  process?.freezer?.release()
  return process === undefined
    ? Effect.andThen(
        preparing === undefined ? Effect.void : Fiber.interrupt(preparing),
        Effect.sync(() => post({ _tag: "Swept", review: [] }))
      )
    : Effect.forkScoped(
        Effect.andThen(
          Fiber.interrupt(process.opening),
          Ladder.terminate(process.ladder, session.reported.isCancelled)
        )
      )
}
