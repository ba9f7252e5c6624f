/** Steps that ask or inform people, in the words of a program's tools: questions, forms and links of servers, plans and lists of steps. */
import { type Call, firstOf, isKimi, type OfferedTool, oneOf } from "./OfferedTools.ts"
import type { Step } from "./Script.ts"

const names = ["ask", "leave", "form", "link", "draft", "plan", "steps"] as const
type InputStep = Extract<Step, { readonly tool: (typeof names)[number] }>

export const isInput = (step: Step): step is InputStep => names.some((name) => name === step.tool)

/** Name of the server that asks, in the settings of the programs. */
export const SERVER = "asking"

/** The call of a tool of the server. Programs put its name before the tool's, each in its own way. */
const ofServer = (tools: ReadonlyArray<OfferedTool>, name: string): Call | undefined => {
  const tool = tools.find(
    (each) => each.name.endsWith(name) && `${each.namespace ?? ""}${each.name}`.includes(SERVER)
  )
  if (tool !== undefined) return { name: tool.name, input: {} }
  // Claude Code lists no tools of servers before a search.
  return oneOf(tools, "ToolSearch") === undefined ? undefined : { name: `mcp__${SERVER}__${name}`, input: {} }
}

const ask = (
  tools: ReadonlyArray<OfferedTool>,
  { options, question }: Step & { readonly tool: "ask" | "leave" }
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

/** Name of a plan that Gemini CLI keeps in a file. */
const PLAN_FILE = "plan.md"

/** Where a program is, and what it sent. */
export interface Surroundings {
  readonly workspace: string
  readonly request: string
}

/** Some programs hand over a file, which they name in the request or by its folder. Others need no preparation, and read something. */
const draft = (
  tools: ReadonlyArray<OfferedTool>,
  content: string,
  { request, workspace }: Surroundings
): Call | undefined => {
  const named = /[\w/.-]+\/plans\/[\w-]+\.md/.exec(request)?.[0]
  if (isKimi(tools) && named !== undefined) return firstOf(tools, { Write: { path: named, content } })
  if (oneOf(tools, "exit_plan_mode")?.parameters.includes("plan_filename") === true)
    return firstOf(tools, { write_file: { file_path: PLAN_FILE, content } })
  const readme = `${workspace}/README.md`
  return firstOf(tools, {
    Read: { file_path: readme, path: readme },
    read: { filePath: readme },
    read_file: { file_path: readme, absolute_path: readme },
    view: { path: readme }
  })
}

const handOver = (tools: ReadonlyArray<OfferedTool>, plan: string): Call | undefined =>
  firstOf(tools, {
    ExitPlanMode: isKimi(tools) ? {} : { plan },
    exit_plan_mode: {
      plan,
      plan_filename: PLAN_FILE,
      summary: plan,
      actions: ["interactive"],
      recommendedAction: "interactive"
    }
  })

/** The call of a step; `undefined` if the program offers no tool for it. */
export const inputCall = (
  step: InputStep,
  tools: ReadonlyArray<OfferedTool>,
  surroundings: Surroundings
): Call | undefined => {
  switch (step.tool) {
    case "ask":
      return ask(tools, step)
    case "leave":
      return firstOf(tools, {
        request_user_input_async: { questions: [{ title: step.question, options: step.options }] }
      })
    case "form":
    case "link":
      return ofServer(tools, step.tool)
    case "draft":
      return draft(tools, step.plan, surroundings)
    case "plan":
      return handOver(tools, step.plan)
    case "steps":
      return listSteps(tools, step)
  }
}
