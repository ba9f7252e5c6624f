/**
 * Tools of Codex for users: names and one-line labels. Also the script in a command of the user's login shell.
 */
import { type JsonObject, defined, objectOf, textOf } from "../text/Json.ts"
import { titleLine } from "../text/FirstLine.ts"
import type { Relative } from "../files/RelativePath.ts"
import { type FileChange, changesOf } from "./FileChanges.ts"
import { capped } from "@corral/domain/text/CappedPattern"

// Script in a command like `/bin/bash -lc '…'`: Codex runs each command in the user's login shell, quoted as one word.
//
// A line that is not exactly three plain words is returned unchanged.

/** Maximum length of a command. On a longer text a pattern may run out of memory. */
const MAX_CHARACTERS = 100_000

const DOUBLE = capped(MAX_CHARACTERS, /"([^"\\$`]*(?:\\["\\$`][^"\\$`]*)*)"/).source
const WORD = capped(
  MAX_CHARACTERS,
  new RegExp(`[\\w@%+=:,./\\]^-]*(?:(?:'[^']*'|${DOUBLE})[\\w@%+=:,./\\]^-]*)*`, "y")
)
const PART = capped(MAX_CHARACTERS, new RegExp(`'([^']*)'|${DOUBLE}|[^'"]+`, "g"))

const unquote = (word: string): string => {
  if (!/['"]/.test(word)) return word
  // Codex puts nearly every script into one pair of single quotes.
  if (word.startsWith("'") && word.indexOf("'", 1) === word.length - 1) return word.slice(1, -1)
  return word.replaceAll(PART, (part: string, single?: string, double?: string) => {
    if (single !== undefined) return single
    return double === undefined ? part : double.replaceAll(/\\(["\\$`])/g, "$1")
  })
}

/** Words of a line in which a shell expands nothing; `undefined` for other lines. */
const splitPlainWords = (line: string): ReadonlyArray<string> | undefined => {
  const words: Array<string> = []
  for (let at = 0; at < line.length;) {
    WORD.lastIndex = at
    const [word] = WORD.exec(line) ?? []
    if (word === undefined || word === "") return undefined
    words.push(unquote(word))
    at += word.length
    if (at === line.length) return words
    if (line[at] !== " ") return undefined
    at++
  }
  return undefined
}

/** Script of a shell's `-c`. Any other command is returned unchanged. */
export const scriptOf = (command: string): string => {
  if (command.length > MAX_CHARACTERS) return command
  const [shell = "", option = "", script, ...more] = splitPlainWords(command) ?? []
  const runs = /^(?:\/.*\/)?(?:bash|zsh|sh)$/.test(shell) && (option === "-lc" || option === "-c")
  return runs && script !== undefined && more.length === 0 ? script : command
}

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
