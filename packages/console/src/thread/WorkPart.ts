/**
 * Parts of a run's work: an action with its approvals, patches and files, or a single block; the fold that makes them of the run's blocks; and the
 * parts of sub-agents, below the calls that started them. Pure.
 *
 * A tool call, and what refers to it by its call id, is one action. A file, patch or approval without a call is an action too.
 */
import type { ApprovalBlock, FileBlock, PatchBlock, RunBlock, ToolBlock } from "@corral/domain/run/RunBlock"

type ActionBlock = ToolBlock | ApprovalBlock | PatchBlock | FileBlock

export interface ActionPart {
  readonly kind: "action"
  /** `seq` of the first block: the key of the part. */
  readonly seq: number
  readonly tool: ToolBlock | undefined
  readonly approvals: ReadonlyArray<ApprovalBlock>
  readonly patches: ReadonlyArray<PatchBlock>
  readonly files: ReadonlyArray<FileBlock>
}

export interface BlockPart {
  readonly kind: "block"
  readonly seq: number
  readonly block: Exclude<RunBlock, ActionBlock>
}

/** An action with its approvals, patches and files, or a single block. */
export type WorkPart = ActionPart | BlockPart

/** The call that the block belongs to. */
export const callOf = (block: RunBlock): string | undefined => {
  switch (block.kind) {
    case "tool":
    case "patch":
    case "file":
      return block.callId
    case "approval":
      return block.request.callId
    default:
      return undefined
  }
}

const noBlocks = { tool: undefined, approvals: [], patches: [], files: [] }

/** A part that begins with the block. */
export const partOf = (block: RunBlock): WorkPart => {
  const { seq } = block
  switch (block.kind) {
    case "tool":
    case "patch":
    case "file":
    case "approval":
      return added({ kind: "action", seq, ...noBlocks }, block)
    default:
      return { kind: "block", seq, block }
  }
}

/** The part with the block, which may replace an earlier version of itself. `undefined` if the block begins another part. */
const extended = (part: WorkPart, block: RunBlock): WorkPart | undefined => {
  switch (block.kind) {
    case "tool":
      return part.kind === "action" && (part.tool === undefined || part.tool.seq === block.seq)
        ? added(part, block)
        : undefined
    case "patch":
    case "file":
    case "approval":
      return part.kind === "action" ? added(part, block) : undefined
    default:
      return part.kind === "block" && part.seq === block.seq ? { ...part, block } : undefined
  }
}

const added = (part: ActionPart, block: ActionBlock): ActionPart => {
  switch (block.kind) {
    case "tool":
      return { ...part, tool: block }
    case "patch":
      return { ...part, patches: including(part.patches, block) }
    case "file":
      return { ...part, files: including(part.files, block) }
    case "approval":
      return { ...part, approvals: including(part.approvals, block) }
  }
}

const including = <B extends ActionBlock>(blocks: ReadonlyArray<B>, block: B): ReadonlyArray<B> => {
  const at = blocks.findIndex(({ seq }) => seq === block.seq)
  return at === -1 ? [...blocks, block] : blocks.with(at, block)
}

/** Blocks of a part, those of an action by kind. */
export const membersOf = (part: WorkPart): ReadonlyArray<RunBlock> =>
  part.kind === "block"
    ? [part.block]
    : [...(part.tool === undefined ? [] : [part.tool]), ...part.approvals, ...part.patches, ...part.files]

/**
 * Incremental fold of a run's blocks into the parts that the thread shows.
 *
 * Guarantees: each block is in exactly one part, and parts are in the order of their first blocks. The result is that of a fold from the start. A
 * part without changes stays the same object. An update costs one comparison per block, and work per changed block.
 */
export class WorkFold {
  private parts: Array<WorkPart> = []
  /** The blocks of the last update, and the part of each. */
  private seen: Array<RunBlock> = []
  private places: Array<number> = []
  private readonly placeOfCall = new Map<string, number>()

  /** Parts of all blocks. The array changes with the next update. */
  update(blocks: ReadonlyArray<RunBlock>): ReadonlyArray<WorkPart> {
    if (!this.replaceChanged(blocks)) this.restart()
    for (let at = this.seen.length; at < blocks.length; at++) {
      const block = blocks[at]
      if (block !== undefined) this.append(block)
    }
    return this.parts
  }

  /** Whether the blocks of the last update are still there, in newer versions or not. */
  private replaceChanged(blocks: ReadonlyArray<RunBlock>): boolean {
    if (blocks.length < this.seen.length) return false
    for (let at = 0; at < this.seen.length; at++) {
      const before = this.seen[at]
      const block = blocks[at]
      if (block === before) continue
      if (
        before === undefined ||
        block === undefined ||
        block.seq !== before.seq ||
        block.kind !== before.kind
      )
        return false
      const place = this.places[at]
      const part = place === undefined ? undefined : this.parts[place]
      const replaced = part === undefined ? undefined : extended(part, block)
      if (place === undefined || replaced === undefined) return false
      this.parts[place] = replaced
      this.seen[at] = block
    }
    return true
  }

  private append(block: RunBlock): void {
    const call = callOf(block)
    const place = call === undefined ? undefined : this.placeOfCall.get(call)
    const part = place === undefined ? undefined : this.parts[place]
    const longer = part === undefined ? undefined : extended(part, block)
    this.seen.push(block)
    if (place !== undefined && longer !== undefined) {
      this.parts[place] = longer
      this.places.push(place)
      return
    }
    if (call !== undefined) this.placeOfCall.set(call, this.parts.length)
    this.places.push(this.parts.length)
    this.parts.push(partOf(block))
  }

  private restart(): void {
    this.parts = []
    this.seen = []
    this.places = []
    this.placeOfCall.clear()
  }
}

/**
 * Work of sub-agents, sorted to the calls that started them. Pure.
 *
 * Guarantees: each part is in exactly one list, in its order. A part whose call is not there, or began later, belongs to the agent itself.
 */
export interface NestedWork {
  /** What the agent itself did. */
  readonly roots: ReadonlyArray<WorkPart>
  /** What the sub-agent of a call did, by the `seq` of the call's part. */
  readonly children: ReadonlyMap<number, ReadonlyArray<WorkPart>>
}

const parentOfAction = ({ approvals, files, patches, tool }: ActionPart): string | undefined =>
  tool?.parentCallId ??
  approvals[0]?.request.parentCallId ??
  patches[0]?.parentCallId ??
  files[0]?.parentCallId

/** The call whose sub-agent did the part. */
export const parentCallOf = (part: WorkPart): string | undefined => {
  if (part.kind === "action") return parentOfAction(part)
  return "parentCallId" in part.block ? part.block.parentCallId : undefined
}

export const nestedWork = (parts: ReadonlyArray<WorkPart>): NestedWork => {
  const roots: Array<WorkPart> = []
  const children = new Map<number, Array<WorkPart>>()
  // The first part of each call. A part can only belong to an earlier one, so no part belongs to itself.
  const partOfCall = new Map<string, number>()
  for (const part of parts) {
    const parent = parentCallOf(part)
    const place = parent === undefined ? undefined : partOfCall.get(parent)
    const siblings = place === undefined ? undefined : children.get(place)
    if (place === undefined) roots.push(part)
    else if (siblings === undefined) children.set(place, [part])
    else siblings.push(part)
    if (part.kind === "action" && part.tool !== undefined && !partOfCall.has(part.tool.callId))
      partOfCall.set(part.tool.callId, part.seq)
  }
  return { roots, children }
}
