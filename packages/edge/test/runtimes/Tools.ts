/**
 * A step of a script in the words of the tools that a program offers to its model: names and parameters differ, what they do does not.
 */
import { isAbsolute, join } from "node:path"
import { isInput, inputCall, type Surroundings } from "./InputTools.ts"
import { type Call, type OfferedTool, oneOf } from "./OfferedTools.ts"
import type { Step } from "./Script.ts"
import { isWork, workCall } from "./WorkTools.ts"

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

/** `undefined` where nothing offered can do it. Relative paths are of the workspace. */
export const callFor = (
  step: Step,
  tools: ReadonlyArray<OfferedTool>,
  surroundings: Surroundings
): Call | undefined => {
  const { workspace } = surroundings
  if (step.tool === "run") return shell(tools, step.command, step.withoutSandbox)
  if (step.tool === "fetch") return fetchTool(tools, step.url)
  if (isWork(step)) return workCall(step, tools)
  if (isInput(step)) return inputCall(step, tools, surroundings)
  const absolute = isAbsolute(step.path) ? step.path : join(workspace, step.path)
  if (step.tool === "edit") return edit(tools, step, absolute)
  const tool = oneOf(tools, "Read", "read", "read_file")
  return tool === undefined
    ? shell(tools, `cat ${step.path}`)
    : { name: tool.name, input: { [pathParameter(tool)]: absolute } }
}
