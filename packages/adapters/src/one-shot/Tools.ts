/**
 * Built-in tools of these programs: the kind of a tool, its one-line label, and the file that a call reads or changes. Names are the
 * programs' own. No name has two kinds.
 */
import { draft, type PayloadOf } from "@corral/domain/run/RunEvent"
import type { AdapterEvent } from "@corral/domain/run/RuntimeAdapter"
import { textOf, type JsonObject } from "../text/Json.ts"
import { folderOfPattern, pathsIn } from "../files/InputPaths.ts"
import { titleLine } from "../text/FirstLine.ts"
import type { Relative } from "../files/RelativePath.ts"

type ToolKind = "shell" | "read" | "write" | "edit" | "search" | "fetch" | "delegate"

const kinds: ReadonlyMap<string, ToolKind> = new Map([
  ...["bash", "run_shell_command"].map((name) => [name, "shell"] as const),
  ...["read", "read_file", "view"].map((name) => [name, "read"] as const),
  ...["write", "write_file", "create"].map((name) => [name, "write"] as const),
  ...["edit", "replace", "notebook_edit"].map((name) => [name, "edit"] as const),
  ...["grep", "glob", "find", "grep_search", "search_file_content"].map((name) => [name, "search"] as const),
  ...["web_fetch", "webfetch"].map((name) => [name, "fetch"] as const),
  ...["task", "agent"].map((name) => [name, "delegate"] as const)
])

export const toolKindOf = (tool: string): ToolKind | undefined => kinds.get(tool)

/** The file that a tool reads or writes. */
export const toolPathOf = (tool: string, input: JsonObject): string | undefined =>
  (tool === "notebook_edit" ? textOf(input["notebook_path"]) : undefined) ??
  textOf(input["file_path"]) ??
  textOf(input["filePath"]) ??
  textOf(input["path"]) ??
  textOf(input["absolute_path"])

/** Every path of a call's input, the tool's target first. */
export const toolPathsOf = (tool: string, input: JsonObject): ReadonlyArray<string> => {
  const paths = pathsIn(input, toolPathOf(tool, input))
  const folder = tool === "glob" ? folderOfPattern(input["pattern"]) : undefined
  return folder === undefined ? paths : [...paths, folder]
}

/** One line for a list: `Run npm test`, `Edit src/main.ts`. */
export const toolLabel = (tool: string, input: JsonObject, relative: Relative): string => {
  const path = toolPathOf(tool, input)
  const file = path === undefined ? "a file" : relative(path)
  switch (kinds.get(tool)) {
    case "shell":
      return titleLine(`Run ${textOf(input["command"]) ?? "a command"}`)
    case "read":
      return titleLine(`Read ${file}`)
    case "write":
      return titleLine(`Write ${file}`)
    case "edit":
      return titleLine(`Edit ${file}`)
    case "search":
      return titleLine(`Search ${textOf(input["pattern"]) ?? "files"}`)
    case "fetch":
      return titleLine(`Fetch ${textOf(input["url"]) ?? "a page"}`)
    case "delegate":
      return titleLine(`Delegate: ${textOf(input["description"]) ?? "a task"}`)
    case undefined:
      return titleLine(`Use ${tool}`)
  }
}

/**
 * Event of the file that a successful call read or changed, from its input. Unless the program reports a new file, a written file counts as
 * modified.
 */
export const fileEventsOfCall = (
  tool: string,
  input: JsonObject,
  callId: string,
  relative: Relative,
  change: PayloadOf<"run.file.changed">["change"] = "modified"
): ReadonlyArray<AdapterEvent> => {
  const path = toolPathOf(tool, input)
  const kind = kinds.get(tool)
  if (path === undefined) return []
  if (kind === "read") return [draft("run.file.read", { path: relative(path), callId })]
  return kind === "write" || kind === "edit"
    ? [draft("run.file.changed", { path: relative(path), change, callId })]
    : []
}
