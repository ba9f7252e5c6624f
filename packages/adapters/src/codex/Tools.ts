/**
 * Tools of Codex for users: names and one-line labels, the script in a command of the user's login shell, and the files of a patch as Codex reports
 * them: paths of the workspace, the kind of each change, and its diff if there is one.
 */
import { type PayloadOf, draft } from "@corral/domain/run/RunEvent"
import type { AdapterEvent } from "@corral/domain/run/RuntimeAdapter"
import { capped } from "@corral/domain/text/CappedPattern"
import type { Relative } from "../files/RelativePath.ts"
import { titleLine } from "../text/FirstLine.ts"
import { type JsonObject, arrayOf, defined, isJsonObject, objectOf, textOf } from "../text/Json.ts"
import { replacement, textLinesOf, unifiedDiff } from "../text/UnifiedDiff.ts"

/** A file of a patch. */
export interface FileChange {
  readonly path: string
  readonly change: PayloadOf<"run.file.changed">["change"]
  readonly fromPath?: string
  readonly patch?: string
}

const removal = (path: string, content: string): string => {
  const lines = textLinesOf(content)
  const hunk = lines.length === 0 ? [] : [`@@ -1,${lines.length} +0,0 @@`, ...lines.map((line) => `-${line}`)]
  return [`--- a/${path}`, "+++ /dev/null", ...hunk, ""].join("\n")
}

/** The report has the content of a new or deleted file, and the hunks of any other file, with its new path below them. */
const patchOf = (kind: string, from: string, to: string, diff: string): string => {
  if (kind === "add") return unifiedDiff(to, [replacement("", diff)], true)
  if (kind === "delete") return removal(from, diff)
  const hunks = diff.replace(/\n\nMoved to: [^\n]*$/, "")
  return `--- a/${from}\n+++ b/${to}\n${hunks}${hunks === "" || hunks.endsWith("\n") ? "" : "\n"}`
}

const changeOf = (change: JsonObject, relative: Relative): FileChange | undefined => {
  const named = textOf(change["path"])
  if (named === undefined) return undefined
  const kind = textOf(change["kind"]) ?? textOf(objectOf(change["kind"])["type"]) ?? "update"
  const from = relative(named)
  const moved = textOf(objectOf(change["kind"])["move_path"])
  const path = moved === undefined ? from : relative(moved)
  const diff = textOf(change["diff"])
  const plain = kind === "add" ? "created" : kind === "delete" ? "deleted" : "modified"
  return {
    path,
    change: path === from ? plain : "renamed",
    ...(path === from ? {} : { fromPath: from }),
    ...defined({ patch: diff === undefined ? undefined : patchOf(kind, from, path, diff) })
  }
}

/** Changes of a list. Entries without a file are ignored. */
export const changesOf = (value: unknown, relative: Relative): ReadonlyArray<FileChange> => {
  const changes: Array<FileChange> = []
  for (const entry of arrayOf(value)) {
    const change = isJsonObject(entry) ? changeOf(entry, relative) : undefined
    if (change !== undefined) changes.push(change)
  }
  return changes
}

const FIELDS = new Set(["path", "kind", "diff"])
const KINDS = ["add", "delete", "update"]

const isFullyNamed = (change: JsonObject): boolean => {
  const kind: JsonObject = isJsonObject(change["kind"])
    ? change["kind"]
    : { type: change["kind"] ?? "update" }
  const { move_path: move = null, type, ...more } = kind
  const diff = change["diff"] ?? ""
  if (typeof change["path"] !== "string" || typeof diff !== "string") return false
  const moved = /\n\nMoved to: ([^\n]*)$/.exec(diff)?.[1]
  return (
    Object.keys(change).every((name) => FIELDS.has(name)) &&
    Object.keys(more).length === 0 &&
    KINDS.includes(textOf(type) ?? "") &&
    (move === null || typeof move === "string") &&
    (moved === undefined || type !== "update" || moved === move)
  )
}

/** Whether a list of changes names every file that it touches. */
export const areChangesComplete = (value: unknown): boolean =>
  Array.isArray(value) && value.every((change) => isJsonObject(change) && isFullyNamed(change))

/** Files of the changes, with both names of a moved file. */
export const filesInChanges = (changes: ReadonlyArray<FileChange>): ReadonlyArray<string> => [
  ...new Set(changes.flatMap(({ fromPath, path }) => (fromPath === undefined ? [path] : [fromPath, path])))
]

/** Events of an applied patch. */
export const appliedEvents = (
  changes: ReadonlyArray<FileChange>,
  call: { readonly callId: string; readonly parentCallId?: string }
): ReadonlyArray<AdapterEvent> =>
  changes.flatMap(({ patch, path, change, fromPath }) => [
    ...(patch === undefined ? [] : [draft("run.patch.proposed", { path, patch, ...call })]),
    draft("run.file.changed", { path, change, ...defined({ fromPath }), ...call })
  ])

/** Number of files, added and deleted lines of a unified diff, counted by its hunks. */
export const measureDiff = (
  diff: string
): { readonly files: number; readonly additions: number; readonly deletions: number } => {
  let [files, additions, deletions, before, after] = [0, 0, 0, 0, 0]
  for (const line of diff.split("\n")) {
    if (before > 0 || after > 0) {
      if (line.startsWith("+")) additions++
      else if (line.startsWith("-")) deletions++
      if (!line.startsWith("+") && !line.startsWith("\\")) before--
      if (!line.startsWith("-") && !line.startsWith("\\")) after--
      continue
    }
    if (line.startsWith("diff --git ")) files++
    const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line)
    if (hunk !== null) [before, after] = [Number(hunk[1] ?? 1), Number(hunk[2] ?? 1)]
  }
  return { files, additions, deletions }
}

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
