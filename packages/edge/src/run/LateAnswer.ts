/** An answer to a question that is no longer open. */
import { InputAlreadyResolved, InputExpired, Overloaded } from "@corral/domain/errors/Failures"
import type { InputRequest } from "@corral/domain/input/InputRequest"

/** The refusal, with the state of the question and the name of the person who answered. */
export const lateAnswerRefusal = ({
  answeredBy,
  id: inputId,
  state
}: InputRequest): InputAlreadyResolved | InputExpired | Overloaded => {
  // The run has stopped, but its end is not stored yet.
  if (state === "pending") return new Overloaded({ details: { reason: "store_failed" } })
  const details = { inputId, state, ...(answeredBy === undefined ? {} : { answeredBy }) }
  return state === "expired" ? new InputExpired({ details }) : new InputAlreadyResolved({ details })
}
