/**
 * Tool calls of one run as an editor shows them, with a kind that it shows as an icon.
 *
 * Guarantees: a call is announced before it is updated. Each update has the whole content of the call, which is bounded.
 */
import type { SessionUpdate, ToolCallContent, ToolCallUpdate, ToolKind } from "@agentclientprotocol/sdk"

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

/** Kinds of tool calls, which editors show as icons, by the names that programs use. */
export const toolKindOf = (tool: string): ToolKind => {
  const words = new Set(wordsOf(tool))
  return kinds.find(([, names]) => names.some((name) => words.has(name)))?.[0] ?? "other"
}

/** What is known about a call. */
export interface CallFields {
  title?: string
  name?: string
  kind?: NonNullable<ToolCallUpdate["kind"]>
  status?: NonNullable<ToolCallUpdate["status"]>
  rawInput?: unknown
  /** Absolute paths. */
  paths?: ReadonlyArray<string>
  /** Content to add. */
  content?: ReadonlyArray<ToolCallContent>
  /** The call of the sub-agent around it. */
  parent?: string | undefined
}

interface Call {
  isAnnounced: boolean
  title: string
  status: NonNullable<ToolCallUpdate["status"]>
  kind: NonNullable<ToolCallUpdate["kind"]>
  readonly paths: Set<string>
  content: Array<ToolCallContent>
}

/** Calls that can still be updated. */
const MAX_CALLS = 1_000
const MAX_PATHS = 50
/** Parts of the content of one call. */
const MAX_PARTS = 200

const isOver = ({ status }: Call): boolean => status === "completed" || status === "failed"

export class ToolCalls {
  private readonly runId: string
  private readonly calls = new Map<string, Call>()

  constructor(runId: string) {
    this.runId = runId
  }

  /** Id of a call in the session: programs number the calls of each run again. */
  idOf(callId: string): string {
    return `${this.runId}/${callId}`
  }

  titleOf(callId: string): string | undefined {
    return this.calls.get(callId)?.title
  }

  has(callId: string): boolean {
    return this.calls.has(callId)
  }

  /** Records what is new, and returns the update that says it. */
  set(callId: string, fields: CallFields): SessionUpdate {
    const call = this.callOf(callId)
    const { content = [], kind, name, parent, paths = [], rawInput, status, title } = fields
    call.title = title ?? call.title
    call.kind = kind ?? call.kind
    call.status = status ?? call.status
    for (const path of paths) if (call.paths.size < MAX_PATHS) call.paths.add(path)
    call.content = [...call.content, ...content].slice(-MAX_PARTS)
    const isFirst = !call.isAnnounced
    call.isAnnounced = true
    const update = {
      toolCallId: this.idOf(callId),
      title: call.title,
      kind: call.kind,
      status: call.status,
      ...(name === undefined ? {} : { name }),
      ...(rawInput === undefined ? {} : { rawInput }),
      ...(call.content.length === 0 || (!isFirst && content.length === 0) ? {} : { content: call.content }),
      ...(call.paths.size === 0 ? {} : { locations: [...call.paths].map((path) => ({ path })) }),
      ...(parent === undefined ? {} : { _meta: { corral: { parentToolCallId: this.idOf(parent) } } })
    }
    return isFirst
      ? { sessionUpdate: "tool_call", ...update }
      : { sessionUpdate: "tool_call_update", ...update }
  }

  /** Ends the calls that have no result, at the end of the run. */
  closeAll(): ReadonlyArray<SessionUpdate> {
    return [...this.calls].flatMap(([callId, call]) =>
      call.isAnnounced && !isOver(call) ? [this.set(callId, { status: "failed" })] : []
    )
  }

  /** The editor has not received what was returned so far. */
  forget(): void {
    for (const call of this.calls.values()) call.isAnnounced = false
  }

  private callOf(callId: string): Call {
    const found = this.calls.get(callId)
    if (found !== undefined) return found
    const [oldest] = this.calls.size >= MAX_CALLS ? this.calls.keys() : []
    if (oldest !== undefined) this.calls.delete(oldest)
    const call: Call = {
      isAnnounced: false,
      title: "Tool call",
      status: "in_progress",
      kind: "other",
      paths: new Set(),
      content: []
    }
    this.calls.set(callId, call)
    return call
  }
}
