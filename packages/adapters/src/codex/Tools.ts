/**
 * Tools of Codex for users: names and one-line labels.
 */
import { defined, objectOf, textOf, type JsonObject } from "../text/Json.ts"
import { titleLine } from "../text/FirstLine.ts"
import type { Relative } from "../files/RelativePath.ts"
import { changesOf, type FileChange } from "./FileChanges.ts"
import { scriptOf } from "./ShellScript.ts"

export interface CodexCall {
  readonly tool: string
  readonly label: string
  readonly input: object
}

export const SHELL = "shell"
export const PATCH = "apply_patch"

/** Name of an MCP server's tool, as the model uses it. */
export const toolOfServer = (server: string, tool: string): string => `mcp__${server}__${tool}`

const verbs = { created: "Write", modified: "Edit", deleted: "Delete", renamed: "Move" } as const

/** `Write notes.txt`, `Move a.ts to b.ts`, `Change 3 files`. */
export const labelOfChanges = (changes: ReadonlyArray<FileChange>): string => {
  const [only, ...more] = changes
  if (only === undefined) return "Change files"
  if (more.length > 0) return `Change ${changes.length} files`
  const { change, fromPath, path } = only
  return titleLine(`${verbs[change]} ${fromPath === undefined ? path : `${fromPath} to ${path}`}`)
}

/** Types of items that are tool calls. */
const calls = new Set([
  "commandExecution",
  "fileChange",
  "mcpToolCall",
  "dynamicToolCall",
  "collabToolCall",
  "collabAgentToolCall",
  "subAgentActivity",
  "webSearch",
  "imageView",
  "imageGeneration",
  "sleep"
])

/** Whether items of that type are tool calls. */
export const isCall = (type: string): boolean => calls.has(type)

/** The tool call of an item; `undefined` for other items. */
export const readCodexCall = (item: JsonObject, relative: Relative): CodexCall | undefined => {
  switch (item["type"]) {
    case "commandExecution": {
      const command = scriptOf(textOf(item["command"]) ?? "")
      const cwd = textOf(item["cwd"])
      return {
        tool: SHELL,
        label: titleLine(`Run ${command}`),
        input: { command, ...(cwd === undefined ? {} : { cwd: relative(cwd) }) }
      }
    }
    case "fileChange": {
      const changes = changesOf(item["changes"], relative)
      return {
        tool: PATCH,
        label: labelOfChanges(changes),
        input: { changes: changes.map(({ path, change, fromPath }) => defined({ path, change, fromPath })) }
      }
    }
    case "mcpToolCall": {
      const [server, name] = [textOf(item["server"]) ?? "a server", textOf(item["tool"]) ?? "a tool"]
      return {
        tool: toolOfServer(server, name),
        label: titleLine(`Use ${name} of ${server}`),
        input: objectOf(item["arguments"])
      }
    }
    case "dynamicToolCall": {
      const tool = textOf(item["tool"]) ?? "tool"
      return { tool, label: titleLine(`Use ${tool}`), input: objectOf(item["arguments"]) }
    }
    case "collabToolCall":
    case "collabAgentToolCall": {
      const tool = textOf(item["tool"]) ?? "agent"
      const prompt = textOf(item["prompt"])
      return { tool, label: titleLine(`Delegate: ${prompt ?? tool}`), input: defined({ prompt }) }
    }
    case "subAgentActivity": {
      const path = textOf(item["agentPath"]) ?? "a sub-agent"
      return item["kind"] === "started"
        ? { tool: "spawnAgent", label: titleLine(`Delegate: ${path}`), input: { path } }
        : undefined
    }
    case "webSearch": {
      const query = textOf(item["query"]) ?? ""
      const label = query === "" ? "Search the web" : `Search the web for ${query}`
      return { tool: "web_search", label: titleLine(label), input: { query } }
    }
    case "imageView": {
      const path = relative(textOf(item["path"]) ?? "an image")
      return { tool: "view_image", label: titleLine(`Look at ${path}`), input: { path } }
    }
    case "imageGeneration":
      return { tool: "image_generation", label: "Make an image", input: {} }
    case "sleep":
      return { tool: "sleep", label: "Wait", input: {} }
    default:
      return undefined
  }
}
