/**
 * One-line label of a tool call, and whether the reports so far are enough for one.
 */
import { titleLine } from "../text/FirstLine.ts"
import type { Relative } from "../files/RelativePath.ts"
import type { AcpAgent } from "./AcpAgent.ts"
import { filesInCall } from "./Changes.ts"
import { readShellCommand, type ToolCall } from "./ToolCall.ts"

/** `Run npm test`, `Edit src/main.ts`, or the agent's title. */
export const acpCallLabel = (call: ToolCall, agent: AcpAgent, relative: Relative): string => {
  const command = readShellCommand(call, agent)
  if (command !== undefined) return titleLine(`Run ${command}`)
  const [file] = filesInCall(call, relative)
  if (file !== undefined && call.kind === "read") return titleLine(`Read ${file}`)
  if (file !== undefined && call.kind === "edit") return titleLine(`Edit ${file}`)
  return titleLine(call.title)
}

/** Whether the command, file or input is known. Some agents send the input piece by piece. */
export const hasSubject = (call: ToolCall, agent: AcpAgent, relative: Relative): boolean => {
  switch (call.kind) {
    case "execute":
      return readShellCommand(call, agent) !== undefined
    case "read":
    case "edit":
    case "delete":
    case "move":
      return filesInCall(call, relative).length > 0
    default:
      return (
        Object.keys(call.input).length > 0 || (call.status === "in_progress" && agent.inputInContent !== true)
      )
  }
}
