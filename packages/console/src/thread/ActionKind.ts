/** Kind of an action, from the name of its tool, and its target. Runtimes name their tools differently. Pure. */
import type { ActionPart } from "./WorkPart.ts"

export type ActionKind = "read" | "search" | "write" | "command" | "web" | "delegate" | "other"

const names: { readonly [K in Exclude<ActionKind, "other">]: ReadonlyArray<string> } = {
  read: ["read", "readfile", "readmanyfiles", "view", "viewimage", "notebookread"],
  search: [
    "search",
    "grep",
    "glob",
    "find",
    "list",
    "ls",
    "listdirectory",
    "grepsearch",
    "searchfilecontent",
    "codebasesearch"
  ],
  write: [
    "write",
    "writefile",
    "create",
    "edit",
    "multiedit",
    "replace",
    "notebookedit",
    "applypatch",
    "patch",
    "delete",
    "move"
  ],
  command: ["bash", "shell", "execute", "runshellcommand", "exec", "command", "terminal"],
  web: ["webfetch", "fetch", "websearch"],
  delegate: ["task", "agent"]
}
const kinds: ReadonlyMap<string, ActionKind> = new Map(
  Object.entries(names).flatMap(([kind, all]) => all.map((name) => [name, kind as ActionKind] as const))
)

export const kindOfTool = (tool: string): ActionKind =>
  kinds.get(tool.toLowerCase().replaceAll(/[_.-]/g, "")) ?? "other"

const kindOfRequest = {
  write: "write",
  shell: "command",
  network: "web",
  publish: "command",
  deploy: "command"
} as const

export const kindOf = ({ approvals: [approval], files: [file], patches, tool }: ActionPart): ActionKind => {
  if (tool !== undefined) return kindOfTool(tool.tool)
  if (approval !== undefined)
    return approval.request.readsOnly === true ? "read" : kindOfRequest[approval.request.action]
  return patches.length === 0 && file?.change === "read" ? "read" : "write"
}

/** Verbs with which adapters begin their labels. */
const VERB = /^(?:Run|Read|Write|Edit|Search|Fetch|List|Delegate:) /

/** What a call acts on, from the label that its adapter gave it. */
export const targetOfLabel = (kind: ActionKind, label: string): string =>
  kind === "other" ? label : label.replace(VERB, "")

/** Fields of a tool's input that name what it acts on. */
const TARGETS = ["command", "cmd", "file_path", "filePath", "path", "url", "pattern", "query"]

/** The input that a person allowed in the place of the requested one. Of an old block only the start is left, which is no JSON. */
const editedInput = ({ approvals, tool }: ActionPart): unknown => {
  for (const { resolution } of approvals)
    if (resolution?.allowedInput !== undefined) return resolution.allowedInput
  try {
    return JSON.parse(tool?.allowedInput?.text ?? "null")
  } catch {
    return undefined
  }
}

/** What an edited action acts on. Its label still names what was requested. */
const editedTarget = (part: ActionPart): string | undefined => {
  const input = editedInput(part)
  if (typeof input !== "object" || input === null) return undefined
  const fields = new Map<string, unknown>(Object.entries(input))
  for (const name of TARGETS) {
    const value = fields.get(name)
    if (typeof value === "string") return value
    if (Array.isArray(value)) return value.map(String).join(" ")
  }
  return undefined
}

/** What the action acts on: a file, a command, a pattern. */
export const targetOf = (part: ActionPart): string => {
  const {
    approvals: [approval],
    files: [file],
    patches: [patch],
    tool
  } = part
  // The label of another tool names the tool, which stays the same.
  const edited = kindOf(part) === "other" ? undefined : editedTarget(part)
  if (edited !== undefined) return edited
  const label = tool?.label ?? approval?.request.title
  if (label !== undefined) return targetOfLabel(kindOf(part), label)
  if (file === undefined) return patch?.path ?? ""
  return file.fromPath === undefined ? file.path : `${file.fromPath} → ${file.path}`
}

export type ActionState = "started" | "waiting" | "completed" | "failed" | "denied" | "cancelled"

export const stateOf = ({ approvals, tool }: ActionPart): ActionState => {
  const last = approvals.at(-1)
  if (tool?.isWaiting === true || last?.state === "pending") return "waiting"
  if (tool !== undefined) return tool.status
  if (last === undefined || last.state === "approved") return "completed"
  return last.state === "cancelled" ? "cancelled" : "denied"
}

/** Whether neighbours of this kind fold into one line. */
export const isExploring = (part: ActionPart): boolean => {
  const kind = kindOf(part)
  return (kind === "read" || kind === "search") && part.approvals.length === 0
}
