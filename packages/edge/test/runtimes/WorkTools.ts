/** Steps that a program continues after its turn, in the words of its tools: commands in the background, sub-agents, goals and timers. */
import { type Call, firstOf, isKimi, type OfferedTool, oneOf } from "./OfferedTools.ts"
import type { Step } from "./Script.ts"

const names = ["background", "delegate", "goal", "reached", "wake", "cron"] as const
type WorkStep = Extract<Step, { readonly tool: (typeof names)[number] }>

export const isWork = (step: Step): step is WorkStep => names.some((name) => name === step.tool)

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

const delegate = (
  tools: ReadonlyArray<OfferedTool>,
  { name, prompt }: Step & { readonly tool: "delegate" }
): Call | undefined => {
  const described = { description: `A task of ${name}`, prompt }
  // Kimi Code has its own kinds of sub-agents.
  const kind = isKimi(tools) ? "coder" : "general-purpose"
  return firstOf(tools, {
    Agent: { ...described, subagent_type: kind },
    Task: { ...described, subagent_type: "general-purpose", subagent_name: "coder" },
    task: { ...described, subagent_type: "general", agent_type: "general-purpose", name },
    agent: { ...described, subagent_type: "general-purpose" },
    spawn_agent: {
      message: prompt,
      // The later of two forms of the tool. Its sub-agents have the conversation of their parent by default.
      ...(oneOf(tools, "spawn_agent")?.parameters.includes("fork_turns") === true
        ? { task_name: name, fork_turns: "none" }
        : {})
    },
    invoke_agent: { agent_name: "generalist", prompt },
    generalist: { request: prompt }
  })
}

/** The call of a step; `undefined` if the program offers no tool for it. */
export const workCall = (step: WorkStep, tools: ReadonlyArray<OfferedTool>): Call | undefined => {
  switch (step.tool) {
    case "background":
      return background(tools, step.command)
    case "delegate":
      return delegate(tools, step)
    case "goal":
      return firstOf(tools, {
        create_goal: { objective: step.objective },
        CreateGoal: { objective: step.objective }
      })
    case "reached":
      return firstOf(tools, { update_goal: { status: "complete" }, UpdateGoal: { status: "complete" } })
    case "wake":
      return firstOf(tools, {
        ScheduleWakeup: { delaySeconds: 60, reason: "The build may be done", prompt: step.prompt }
      })
    case "cron":
      return firstOf(tools, {
        CronCreate: { cron: "* * * * *", prompt: step.prompt, recurring: false }
      })
  }
}
