/** Kinds of tool calls, which editors show as icons, by the names that programs use. */
import type { ToolKind } from "@agentclientprotocol/sdk"

const kinds: ReadonlyArray<readonly [ToolKind, ReadonlyArray<string>]> = [
  ["edit", ["write", "edit", "patch", "create", "replace"]],
  ["delete", ["delete", "remove"]],
  ["move", ["move", "rename"]],
  ["search", ["search", "grep", "glob", "find", "list", "ls"]],
  ["read", ["read", "view", "cat"]],
  ["fetch", ["fetch", "web", "http", "browse"]],
  ["execute", ["shell", "bash", "exec", "run", "command", "terminal"]],
  ["think", ["think", "todo"]]
]

/** The words of a name: `apply_patch` and `ApplyPatch` have two. */
const wordsOf = (tool: string): ReadonlyArray<string> =>
  tool
    .slice(0, 100)
    .replaceAll(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/)

export const toolKindOf = (tool: string): ToolKind => {
  const words = new Set(wordsOf(tool))
  return kinds.find(([, names]) => names.some((name) => words.has(name)))?.[0] ?? "other"
}
