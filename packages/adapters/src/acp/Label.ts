/**
 * What a tool call is about, in one line for a list, and whether that is known yet.
 */
import { oneLine } from "../OneLine.ts"
import type { Relative } from "../Relative.ts"
import type { AcpAgent } from "./AcpAgent.ts"
import { filesOf } from "./Changes.ts"
import { commandOf, type ToolCall } from "./ToolCall.ts"

/** `Run npm test`, `Edit src/main.ts`, or the agent's own title. */
export const labelOf = (call: ToolCall, agent: AcpAgent, relative: Relative): string => {
  const command = commandOf(call, agent)
  if (command !== undefined) return oneLine(`Run ${command}`)
  const [file] = filesOf(call, relative)
  if (file !== undefined && call.kind === "read") return oneLine(`Read ${file}`)
  if (file !== undefined && call.kind === "edit") return oneLine(`Edit ${file}`)
  return oneLine(call.title)
}

/** Whether the call says already what it is about: some agents send its input piece by piece. */
export const isClear = (call: ToolCall, agent: AcpAgent, relative: Relative): boolean => {
  switch (call.kind) {
    case "execute":
      return commandOf(call, agent) !== undefined
    case "read":
    case "edit":
    case "delete":
    case "move":
      return filesOf(call, relative).length > 0
    default:
      return agent.inputInContent !== true || Object.keys(call.input).length > 0
  }
}
