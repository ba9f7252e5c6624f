/**
 * A step of a script in the words of the tools that a program offers to its model: names and parameters differ, what they do does not.
 */
import { isAbsolute, join } from "node:path"
import type { Step } from "./Script.ts"

/** A tool as a request offers it. */
export interface OfferedTool {
  readonly name: string
  readonly parameters: ReadonlyArray<string>
  /** Takes one free text instead of JSON. */
  readonly freeform?: boolean
}

/** A call of an offered tool: `text` where it is free-form. */
export type Call =
  | { readonly name: string; readonly input: Readonly<Record<string, unknown>> }
  | { readonly name: string; readonly text: string }

const oneOf = (tools: ReadonlyArray<OfferedTool>, ...names: ReadonlyArray<string>): OfferedTool | undefined =>
  names.map((name) => tools.find((tool) => tool.name === name)).find((tool) => tool !== undefined)

const parameter = (tool: OfferedTool, ...names: readonly [string, ...Array<string>]): string =>
  names.find((name) => tool.parameters.includes(name)) ?? names[0]

const shell = (
  tools: ReadonlyArray<OfferedTool>,
  command: string,
  withoutSandbox = false
): Call | undefined => {
  const tool = oneOf(tools, "Bash", "bash", "run_shell_command", "exec_command", "shell_command")
  if (tool === undefined) return undefined
  const described = tool.parameters.includes("description") ? { description: "As the test asks" } : {}
  const foreground = tool.parameters.includes("is_background") ? { is_background: false } : {}
  const escalated = withoutSandbox
    ? { sandbox_permissions: "require_escalated", justification: "As the test asks" }
    : {}
  return {
    name: tool.name,
    input: { [parameter(tool, "command", "cmd")]: command, ...described, ...foreground, ...escalated }
  }
}

const pathParameter = (tool: OfferedTool): string =>
  parameter(tool, "file_path", "filePath", "absolute_path", "path")

const patchOf = ({ path, old, new: text }: Step & { readonly tool: "edit" }): string =>
  `*** Begin Patch\n*** Update File: ${path}\n@@\n-${old}\n+${text}\n*** End Patch\n`

const edit = (
  tools: ReadonlyArray<OfferedTool>,
  step: Step & { readonly tool: "edit" },
  absolute: string
): Call | undefined => {
  const tool = oneOf(tools, "Edit", "edit", "replace")
  if (tool !== undefined) {
    // Some programs take a list of replacements.
    if (tool.parameters.includes("edits")) {
      const edits = [{ oldText: step.old, newText: step.new }]
      return { name: tool.name, input: { [pathParameter(tool)]: absolute, edits } }
    }
    const why = tool.parameters.includes("instruction") ? { instruction: "Change the greeting" } : {}
    return {
      name: tool.name,
      input: {
        [pathParameter(tool)]: absolute,
        [parameter(tool, "old_string", "oldString", "old_str")]: step.old,
        [parameter(tool, "new_string", "newString", "new_str")]: step.new,
        ...why
      }
    }
  }
  const patch = oneOf(tools, "apply_patch")
  if (patch === undefined) return shell(tools, `apply_patch <<'END'\n${patchOf(step)}END`)
  return patch.freeform === true
    ? { name: patch.name, text: patchOf(step) }
    : { name: patch.name, input: { input: patchOf(step) } }
}

const fetchTool = (tools: ReadonlyArray<OfferedTool>, url: string): Call | undefined => {
  const tool = oneOf(tools, "WebFetch", "webfetch", "web_fetch", "FetchURL")
  if (tool === undefined) return undefined
  const prompt = tool.parameters.includes("prompt") ? { prompt: "What does it say?" } : {}
  const format = tool.parameters.includes("format") ? { format: "text" } : {}
  return { name: tool.name, input: { url, ...prompt, ...format } }
}

/** The call of the first tool that is offered, with the input that it takes. */
const firstOf = (
  tools: ReadonlyArray<OfferedTool>,
  inputs: Readonly<Record<string, Readonly<Record<string, unknown>>>>
): Call | undefined => {
  const [name, input] = Object.entries(inputs).find(([name]) => oneOf(tools, name) !== undefined) ?? []
  return name === undefined || input === undefined ? undefined : { name, input }
}

const background = (tools: ReadonlyArray<OfferedTool>, command: string): Call | undefined => {
  const description = "As the test asks"
  const has = (name: string, parameter: string): boolean =>
    oneOf(tools, name)?.parameters.includes(parameter) === true
  if (has("Bash", "run_in_background"))
    return { name: "Bash", input: { command, description, run_in_background: true } }
  if (has("run_shell_command", "is_background"))
    return { name: "run_shell_command", input: { command, description, is_background: true } }
  if (has("exec_command", "yield_time_ms"))
    return { name: "exec_command", input: { cmd: command, yield_time_ms: 500 } }
  if (has("bash", "mode"))
    return {
      name: "bash",
      input: { command, description, mode: "async", sessionId: "a", initial_wait: 1 }
    }
  return undefined
}

/** Whether these are the tools of Kimi Code, whose names are those of others. */
const isKimi = (tools: ReadonlyArray<OfferedTool>): boolean =>
  oneOf(tools, "TodoList", "SetTodoList") !== undefined

const delegate = (tools: ReadonlyArray<OfferedTool>, prompt: string): Call | undefined => {
  const described = { description: "A child", prompt }
  // Kimi Code has its own kinds of sub-agents.
  const kind = isKimi(tools) ? "coder" : "general-purpose"
  return firstOf(tools, {
    Agent: { ...described, subagent_type: kind },
    Task: { ...described, subagent_type: "general-purpose", subagent_name: "coder" },
    task: {
      ...described,
      subagent_type: "general",
      agent_type: "general-purpose",
      name: "child"
    },
    agent: { ...described, subagent_type: "general-purpose" },
    spawn_agent: { message: prompt, task_name: "child" },
    generalist: { request: prompt }
  })
}

const ask = (
  tools: ReadonlyArray<OfferedTool>,
  { options, question }: Step & { readonly tool: "ask" }
): Call | undefined => {
  const described = options.map((label) => ({ label, description: `The colour ${label}` }))
  const several = isKimi(tools) ? {} : { multiSelect: false }
  const questions = [{ question, header: "Colour", ...several, options: described }]
  return firstOf(tools, {
    AskUserQuestion: { questions },
    ask_user_question: { questions },
    question: { questions: [{ question, header: "Colour", options: described }] },
    request_user_input: {
      questions: [{ id: "colour", question, header: "Colour", options: described }]
    },
    ask_user: {
      question,
      choices: options,
      questions: [{ question, header: "Colour", type: "choice", options: described }]
    }
  })
}

const listSteps = (
  tools: ReadonlyArray<OfferedTool>,
  { steps: [first, second] }: Step & { readonly tool: "steps" }
): Call | undefined => {
  const items = [
    { id: "1", content: first, status: "in_progress", priority: "high", activeForm: first },
    { id: "2", content: second, status: "pending", priority: "low", activeForm: second }
  ]
  const titled = items.map(({ content, status }) => ({ title: content, status }))
  return firstOf(tools, {
    TodoWrite: { todos: items },
    todowrite: { todos: items },
    todo_write: { todos: items },
    write_todos: { todos: items.map(({ content, status }) => ({ description: content, status })) },
    TodoList: { todos: titled },
    SetTodoList: { todos: titled },
    update_plan: { plan: items.map(({ content, status }) => ({ step: content, status })) },
    TaskCreate: { subject: first, description: first, activeForm: first }
  })
}

/** `undefined` where nothing offered can do it. Relative paths are of `workspace`. */
export const callFor = (
  step: Step,
  tools: ReadonlyArray<OfferedTool>,
  workspace: string
): Call | undefined => {
  if (step.tool === "run") return shell(tools, step.command, step.withoutSandbox)
  if (step.tool === "fetch") return fetchTool(tools, step.url)
  if (step.tool === "background") return background(tools, step.command)
  if (step.tool === "delegate") return delegate(tools, step.prompt)
  if (step.tool === "ask") return ask(tools, step)
  if (step.tool === "steps") return listSteps(tools, step)
  const absolute = isAbsolute(step.path) ? step.path : join(workspace, step.path)
  if (step.tool === "edit") return edit(tools, step, absolute)
  const tool = oneOf(tools, "Read", "read", "read_file")
  return tool === undefined
    ? shell(tools, `cat ${step.path}`)
    : { name: tool.name, input: { [pathParameter(tool)]: absolute } }
}
