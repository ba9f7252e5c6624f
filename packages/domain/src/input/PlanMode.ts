/** Mode in which an approved plan is carried out, and its check against the modes that the place offers. */
import { endsWithPlan, type RunMode } from "../approval/RunMode.ts"
import type { AnswerIssue } from "./AnswerCheck.ts"
import type { InputAnswer } from "./InputRequest.ts"

/** Mode of the next run, if the approval names none. */
export const DEFAULT_PLAN_MODE: RunMode = "ask"

/**
 * The mode that an answer chooses; `undefined` if it chooses none. `offered`: modes of the agent in its workspace. Where none of them may carry
 * out a plan, an approval without a mode chooses none: the plan is the result.
 */
const chosenMode = (
  answer: InputAnswer,
  runMode: RunMode,
  offered: ReadonlyArray<RunMode>
): RunMode | undefined => {
  if (!("approve" in answer) || !answer.approve) return undefined
  const needsMode = endsWithPlan(runMode) && offered.some((mode) => !endsWithPlan(mode))
  return answer.mode ?? (needsMode ? DEFAULT_PLAN_MODE : undefined)
}

/** What does not fit in an approval that chooses a mode which is not offered. Empty for all other answers. */
export const planModeIssues = (
  answer: InputAnswer,
  runMode: RunMode,
  offered: ReadonlyArray<RunMode>
): ReadonlyArray<AnswerIssue> => {
  const mode = chosenMode(answer, runMode, offered)
  if (mode === undefined || offered.includes(mode)) return []
  const choices = offered.length === 0 ? "No mode is offered." : `Choose one of: ${offered.join(", ")}.`
  return [
    { path: "mode", message: `The agent can't carry out the plan in the mode ${mode} here. ${choices}` }
  ]
}
