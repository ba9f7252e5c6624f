/**
 * One line for a list that says what a tool call is about.
 */
import type { AcpAgent } from "./AcpAgent.ts"
import { filesOf } from "./Changes.ts"
import { commandOf, oneLine, type Relative, type ToolCall } from "./ToolCall.ts"

/** `Run npm test`, `Edit src/main.ts`, or the agent's own title. */
export const labelOf = (call: ToolCall, agent: AcpAgent, relative: Relative): string => {
  const command = commandOf(call, agent)
  if (command !== undefined) return oneLine(`Run ${command}`)
  const [file] = filesOf(call, relative)
  if (file !== undefined && call.kind === "read") return oneLine(`Read ${file}`)
  if (file !== undefined && call.kind === "edit") return oneLine(`Edit ${file}`)
  return oneLine(call.title)
}
