/** Tools that a request offers to the model, and calls of them. */

/** A tool as a request offers it. */
export interface OfferedTool {
  readonly name: string
  /** Of its name, where a service has groups of tools. */
  readonly namespace?: string
  readonly parameters: ReadonlyArray<string>
  /** Takes one free text instead of JSON. */
  readonly freeform?: boolean
  /** Is called by a script, which this tool of the same group runs. */
  readonly runner?: string
}

/** A call of an offered tool: `text` where it is free-form. */
export type Call = Pick<OfferedTool, "name" | "namespace" | "runner"> &
  ({ readonly input: Readonly<Record<string, unknown>> } | { readonly text: string })

export const oneOf = (
  tools: ReadonlyArray<OfferedTool>,
  ...names: ReadonlyArray<string>
): OfferedTool | undefined =>
  names.map((name) => tools.find((tool) => tool.name === name)).find((tool) => tool !== undefined)

/**
 * Tools of Claude Code that it does not describe to the model until the model searches for them. It takes a call of them without that.
 */
const unlisted = ["CronCreate", "ExitPlanMode", "TaskCreate"]

/** The call of the first tool that is offered, with the input that it takes. */
export const firstOf = (
  tools: ReadonlyArray<OfferedTool>,
  inputs: Readonly<Record<string, Readonly<Record<string, unknown>>>>
): Call | undefined => {
  const searches = oneOf(tools, "ToolSearch") !== undefined
  for (const [name, input] of Object.entries(inputs)) {
    const tool = oneOf(tools, name) ?? (searches && unlisted.includes(name) ? { name } : undefined)
    if (tool !== undefined) return { name: tool.name, input }
  }
  return undefined
}

/** A call with the place of its tool. */
export const placed = (call: Call, tools: ReadonlyArray<OfferedTool>): Call => {
  const { namespace, runner } = oneOf(tools, call.name) ?? {}
  return {
    ...call,
    ...(namespace === undefined ? {} : { namespace }),
    ...(runner === undefined ? {} : { runner })
  }
}

/** Whether these are the tools of Kimi Code, whose names are those of others. */
export const isKimi = (tools: ReadonlyArray<OfferedTool>): boolean =>
  oneOf(tools, "TodoList", "SetTodoList") !== undefined
