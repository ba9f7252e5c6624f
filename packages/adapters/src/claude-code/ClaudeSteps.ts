/**
 * Lists of steps that Claude Code keeps with its to-do and task tools, for the agent and for each of its sub-agents.
 */
import type { Step } from "@corral/domain/run/Steps"
import type { OutputCollector } from "../output/OutputCollector.ts"
import { arrayOf, isJsonObject, objectOf, textOf, type JsonObject } from "../text/Json.ts"

const states: Readonly<Record<string, Step["state"]>> = {
  pending: "pending",
  in_progress: "in_progress",
  completed: "completed",
  cancelled: "cancelled"
}

const stateOf = (status: unknown): Step["state"] | undefined => states[textOf(status) ?? ""]

/** Most tasks that are kept of one list. */
const MAX_TASKS = 1_000

/** Id of a created task: of the structured result, or of its text. */
const createdId = (structured: unknown, output: string | undefined): string | undefined =>
  textOf(objectOf(objectOf(structured)["task"])["id"]) ?? /^Task #(\w{1,32}) created/.exec(output ?? "")?.[1]

export class ClaudeSteps {
  readonly #collector: OutputCollector
  /** Tasks by id, by the call of their sub-agent (`""` for the agent itself). */
  readonly #tasks = new Map<string, Map<string, Step>>()

  constructor(collector: OutputCollector) {
    this.#collector = collector
  }

  /** Reads the result of a successful call. */
  readResult(
    tool: string,
    input: JsonObject,
    structured: unknown,
    output: string | undefined,
    parentCallId: string | undefined
  ): void {
    if (tool === "TodoWrite") return this.#collector.steps(todosIn(input), parentCallId)
    const tasks = this.#tasksOf(parentCallId ?? "")
    switch (tool) {
      case "TaskCreate": {
        const id = createdId(structured, output)
        const text = textOf(input["subject"]) ?? textOf(objectOf(objectOf(structured)["task"])["subject"])
        if (id === undefined || text === undefined || tasks.size >= MAX_TASKS) return
        tasks.set(id, { id, text, state: "pending" })
        break
      }
      case "TaskUpdate":
        updateTask(tasks, input)
        break
      case "TaskList":
        for (const { id, state, text } of listedTasks(structured)) tasks.set(id, { id, text, state })
        break
      default:
        return
    }
    this.#collector.steps([...tasks.values()], parentCallId)
  }

  #tasksOf(parent: string): Map<string, Step> {
    const tasks = this.#tasks.get(parent) ?? new Map<string, Step>()
    this.#tasks.set(parent, tasks)
    return tasks
  }
}

const todosIn = (input: JsonObject): ReadonlyArray<Step> =>
  arrayOf(input["todos"])
    .filter(isJsonObject)
    .map((todo, at) => ({
      id: String(at),
      text: textOf(todo["content"]) ?? "",
      state: stateOf(todo["status"]) ?? "pending"
    }))

const updateTask = (tasks: Map<string, Step>, input: JsonObject): void => {
  const id = textOf(input["taskId"]) ?? ""
  const task = tasks.get(id)
  if (task === undefined) return
  if (input["status"] === "deleted") tasks.delete(id)
  else
    tasks.set(id, {
      id,
      text: textOf(input["subject"]) ?? task.text,
      state: stateOf(input["status"]) ?? task.state
    })
}

const listedTasks = (structured: unknown): ReadonlyArray<Step> =>
  arrayOf(objectOf(structured)["tasks"])
    .filter(isJsonObject)
    .slice(0, MAX_TASKS)
    .flatMap((task) => {
      const [id, text] = [textOf(task["id"]), textOf(task["subject"])]
      return id === undefined || text === undefined
        ? []
        : [{ id, text, state: stateOf(task["status"]) ?? "pending" }]
    })
