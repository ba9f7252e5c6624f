/**
 * Incremental fold of a run's blocks into the parts that the thread shows.
 *
 * Guarantees: each block is in exactly one part, and parts are in the order of their first blocks. The result is that of a fold from the start. A
 * part without changes stays the same object. An update costs one comparison per block, and work per changed block.
 */
import type { RunBlock } from "@corral/domain/run/RunBlock"
import { callOf, extended, partOf, type WorkPart } from "./WorkPart.ts"

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
