/**
 * Tools with which an agent keeps its list of steps. They change nothing, so they ask no person.
 */
import type { Step } from "@corral/domain/run/Steps"
import { stepsOfList } from "../output/StepLists.ts"
import { textOf } from "../text/Json.ts"
import { filesNamedBy } from "./Changes.ts"
import type { ToolCall } from "./ToolCall.ts"

/** Without case, `_` and `-`. */
const STEP_TOOLS = new Set([
  "todowrite",
  "todoread",
  "writetodos",
  "todolist",
  "settodolist",
  "updateplan",
  "updatetodo",
  "taskcreate",
  "taskupdate",
  "tasklist",
  "taskget"
])

/** Whether a call only keeps the list of steps. One that names a file or a command does something else. */
export const keepsSteps = (call: ToolCall): boolean =>
  STEP_TOOLS.has(call.tool.replaceAll(/[_-]/g, "").toLowerCase()) &&
  textOf(call.input["command"]) === undefined &&
  filesNamedBy(call, (path) => path).length === 0

/** The list in the input of a call that keeps steps, for an agent that sends no `plan`; `undefined` if there is none. */
export const stepsIn = (call: ToolCall): ReadonlyArray<Step> | undefined => {
  const todos = call.input["todos"]
  if (!Array.isArray(todos) || !keepsSteps(call)) return undefined
  return stepsOfList(todos, "content", "title", "description")
}
