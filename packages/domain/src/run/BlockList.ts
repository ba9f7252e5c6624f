/**
 * Bounded list of display blocks, in the order of the events that began them.
 *
 * Guarantees: at most `MAX_BLOCKS` blocks and `MAX_TEXT` characters in all. The oldest blocks are shortened first, then dropped; pending
 * approvals and the last block stay whole. A block that changes is replaced, so that a renderer can compare blocks by identity.
 */
import { excerptOf, excerptOfEnd, type RunBlock } from "./RunBlock.ts"

/** Characters of all blocks together. */
export const MAX_TEXT = 16_777_216
export const MAX_BLOCKS = 100_000

export class BlockList {
  readonly blocks: Array<RunBlock> = []
  /** Number of first blocks that were dropped. */
  dropped = 0
  private readonly positions = new Map<string, number>()
  private textSize = 0
  /** Number of first blocks that were shortened. */
  private shortened = 0

  /** Adds a block. A block with a key can be found and replaced. */
  push(block: RunBlock, key?: string): void {
    if (key !== undefined) this.positions.set(key, this.dropped + this.blocks.length)
    this.textSize += textSizeOf(block)
    this.blocks.push(block)
  }

  /** The last block with that key, if it is still in the list and of that kind. */
  find<K extends RunBlock["kind"]>(key: string, kind: K): Extract<RunBlock, { kind: K }> | undefined {
    const position = this.positions.get(key)
    const block = position === undefined ? undefined : this.blocks[position - this.dropped]
    return block !== undefined && isOfKind(block, kind) ? block : undefined
  }

  replace(key: string, block: RunBlock): void {
    const position = this.positions.get(key)
    if (position === undefined) return
    const before = this.blocks[position - this.dropped]
    this.textSize += textSizeOf(block) - (before === undefined ? 0 : textSizeOf(before))
    this.blocks[position - this.dropped] = block
  }

  /** Removes the last block if it is of that kind. */
  removeLast(kind: RunBlock["kind"]): void {
    const last = this.blocks.at(-1)
    if (last?.kind !== kind) return
    this.textSize -= textSizeOf(last)
    this.blocks.pop()
  }

  /** Shortens or drops the oldest blocks if a limit is exceeded. */
  trim(): void {
    if (this.textSize <= MAX_TEXT && this.blocks.length <= MAX_BLOCKS) return
    if (this.blocks.length > MAX_BLOCKS) this.dropOldest(MAX_BLOCKS / 10)
    this.shortenOldest()
  }

  private dropOldest(count: number): void {
    for (const block of this.blocks.splice(0, count)) this.textSize -= textSizeOf(block)
    this.dropped += count
    this.shortened = Math.max(0, this.shortened - count)
    for (const [key, position] of this.positions) if (position < this.dropped) this.positions.delete(key)
  }

  private shortenOldest(): void {
    while (this.textSize > MAX_TEXT * 0.9 && this.shortened < this.blocks.length - 1) {
      const block = this.blocks[this.shortened]
      if (block !== undefined) {
        const short = shorten(block)
        this.textSize += textSizeOf(short) - textSizeOf(block)
        this.blocks[this.shortened] = short
      }
      this.shortened++
    }
  }
}

const isOfKind = <K extends RunBlock["kind"]>(
  block: RunBlock,
  kind: K
): block is Extract<RunBlock, { kind: K }> => block.kind === kind

/** Approximate number of characters in a block. */
const textSizeOf = (block: RunBlock): number => {
  switch (block.kind) {
    case "message":
      return block.body.text.length
    case "tool":
      return [block.input, block.allowedInput, block.output].reduce(
        (size, part) => size + (part?.text.length ?? 0),
        0
      )
    case "patch":
      return block.patch.text.length
    case "input":
      return (block.request.plan?.length ?? 0) + (block.request.questions?.length ?? 0) * 512
    case "steps":
      return block.steps.length * 64
    case "approval":
      return (block.request.patch?.length ?? 0) + (block.request.command?.length ?? 0) * 2
    default:
      return 0
  }
}

const shorten = (block: RunBlock): RunBlock => {
  switch (block.kind) {
    case "message":
      return { ...block, body: excerptOf(block.body) }
    case "tool":
      return {
        ...block,
        input: block.input && excerptOf(block.input),
        allowedInput: block.allowedInput && excerptOf(block.allowedInput),
        output: block.output && excerptOfEnd(block.output)
      }
    case "patch":
      return { ...block, patch: excerptOf(block.patch) }
    case "input": {
      if (block.state === "pending") return block
      const { plan: _, questions: _questions, ...request } = block.request
      return { ...block, request }
    }
    case "approval": {
      if (block.state === "pending") return block
      const { action, editable, risk, scopes, title } = block.request
      const request = { action, editable, risk, scopes, title }
      if (block.resolution === undefined) return { ...block, request }
      const { allowedInput: _, ...resolution } = block.resolution
      return { ...block, request, resolution }
    }
    default:
      return block
  }
}
