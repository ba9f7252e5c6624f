/**
 * Plans of an agent: the tools with which it keeps its list of steps, and the newest plan that it has written into its folder for plans. The tools
 * change nothing, so they ask no person. Gemini hands over a plan by the path of its file only.
 *
 * Does not: read a file. The report of the call that wrote it has the text.
 */
import { stepsOfList } from "../output/StepLists.ts"
import { textOf } from "../text/Json.ts"
import { filesNamedBy } from "./Changes.ts"
import type { ToolCall } from "./ToolCall.ts"
import type { Step } from "@corral/domain/run/Work"

/** The newest plan that an agent has written into its folder for plans. */
export class PlanFile {
  #path = ""
  #text = ""

  /** Reads a call that may have written the plan. */
  readCall({ content, status }: ToolCall): void {
    if (status !== "completed") return
    for (const block of content) {
      const diff: { readonly path?: unknown; readonly newText?: unknown } = block
      const [path, text] = [textOf(diff.path), textOf(diff.newText)]
      if (path === undefined || text === undefined || !path.endsWith(".md") || !path.includes("/plans/"))
        continue
      this.#path = path
      this.#text = text
    }
  }

  /** The plan whose path stands in the text; `undefined` if it is not known. */
  planIn(text: string): string | undefined {
    return this.#path !== "" && text.includes(this.#path) ? this.#text : undefined
  }
}

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
