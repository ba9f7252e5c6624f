/** Kind of an action, from the name of its tool, and its target. Runtimes name their tools differently. Pure. */
import { editedLabel, LABEL_VERB } from "@corral/domain/run/EditedLabel"
import type { ApprovalBlock } from "@corral/domain/run/RunBlock"
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

/** What a call acts on, from the label that its adapter gave it. */
export const targetOfLabel = (kind: ActionKind, label: string): string =>
  kind === "other" ? label : label.replace(LABEL_VERB, "")

/** An edited action is named by what was allowed. */
const titleOf = ({ request, resolution }: ApprovalBlock): string =>
  resolution?.allowedInput === undefined
    ? request.title
    : editedLabel(request.title, request.input, resolution.allowedInput)

/** What the action acts on: a file, a command, a pattern. */
export const targetOf = (part: ActionPart): string => {
  const {
    approvals: [approval],
    files: [file],
    patches: [patch],
    tool
  } = part
  const label = tool?.label ?? (approval === undefined ? undefined : titleOf(approval))
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
