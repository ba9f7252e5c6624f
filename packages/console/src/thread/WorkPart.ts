/**
 * Parts of a run's work: an action with its approvals, patches and files, or a single block.
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
export const extended = (part: WorkPart, block: RunBlock): WorkPart | undefined => {
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
