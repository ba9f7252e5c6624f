/**
 * Kind of an action, from the name of its tool, and its target; the rows of a thread, in which neighbouring reads and searches are one; and the counts of
 * a turn's actions. Runtimes name their tools differently. Pure.
 */
import { editedLabel, LABEL_VERB } from "@corral/domain/run/EditedLabel"
import type { ApprovalBlock } from "@corral/domain/run/RunBlock"
import type { ActionPart, WorkPart } from "./WorkPart.ts"

/** What an action does. */
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
const isExploring = (part: ActionPart): boolean => {
  const kind = kindOf(part)
  return (kind === "read" || kind === "search") && part.approvals.length === 0
}

interface ExploredRow {
  readonly kind: "explored"
  /** `seq` of the first action: the key of the row. */
  readonly seq: number
  readonly actions: ReadonlyArray<ActionPart>
}

/** Rows of the thread: parts of the work, in which neighbouring reads and searches are one row. Pure. */
export type WorkRow = WorkPart | ExploredRow

/** The fewest neighbours that fold. */
const FEWEST = 2

export const rowsOfWork = (parts: ReadonlyArray<WorkPart>): ReadonlyArray<WorkRow> => {
  const rows: Array<WorkRow> = []
  for (let at = 0; at < parts.length;) {
    const actions = neighbours(parts, at)
    const [first] = actions
    if (first === undefined || actions.length < FEWEST) {
      const part = parts[at]
      if (part !== undefined) rows.push(part)
      at++
    } else {
      rows.push({ kind: "explored", seq: first.seq, actions })
      at += actions.length
    }
  }
  return rows
}

const neighbours = (parts: ReadonlyArray<WorkPart>, from: number): ReadonlyArray<ActionPart> => {
  const found: Array<ActionPart> = []
  for (let at = from; at < parts.length; at++) {
    const part = parts[at]
    if (part?.kind !== "action" || !isExploring(part)) break
    found.push(part)
  }
  return found
}

export interface WorkCounts {
  readonly reads: number
  readonly searches: number
  readonly edits: number
  readonly commands: number
  readonly others: number
}

/** Number of actions by kind, for the line of a folded turn. */
export const countsOf = (parts: ReadonlyArray<WorkPart>): WorkCounts => {
  const counts = { reads: 0, searches: 0, edits: 0, commands: 0, others: 0 }
  const fields = {
    read: "reads",
    search: "searches",
    write: "edits",
    command: "commands",
    web: "others",
    delegate: "others",
    other: "others"
  } as const
  for (const part of parts) if (part.kind === "action") counts[fields[kindOf(part)]]++
  return counts
}
