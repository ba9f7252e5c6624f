/** Parts of a run's work: every block once, in order, however the blocks arrive. */
import { assert, describe, it } from "@effect/vitest"
import type { RunBlock } from "@corral/domain/run/RunBlock"
import * as fc from "fast-check"
import { callOf, membersOf, WorkFold, type WorkPart } from "../../src/thread/WorkPart.ts"
import { countsOf, rowsOfWork } from "../../src/thread/ActionKind.ts"
import { blocksOfRun, laterVersion } from "./blocks.ts"

const bySeq = (a: RunBlock, b: RunBlock): number => a.seq - b.seq
const allOf = (parts: ReadonlyArray<WorkPart>) => parts.flatMap(membersOf)

describe("WorkFold", () => {
  it("contains every block exactly once", () => {
    fc.assert(
      fc.property(blocksOfRun, (blocks) => {
        const parts = new WorkFold().update(blocks)
        assert.deepStrictEqual(allOf(parts).toSorted(bySeq), [...blocks])
      })
    )
  })

  it("keeps the order of the first blocks, and joins only blocks of one call", () => {
    fc.assert(
      fc.property(blocksOfRun, (blocks) => {
        const parts = new WorkFold().update(blocks)
        const firsts = parts.map(({ seq }) => seq)
        assert.deepStrictEqual(
          firsts,
          firsts.toSorted((a, b) => a - b)
        )
        for (const part of parts) {
          const members = membersOf(part)
          assert.strictEqual(part.seq, Math.min(...members.map(({ seq }) => seq)))
          if (members.length > 1) assert.strictEqual(new Set(members.map(callOf)).size, 1)
          assert.isAtMost(members.filter(({ kind }) => kind === "tool").length, 1)
        }
      })
    )
  })

  it("has the result of a fold from the start after any updates", () => {
    const steps = fc.array(fc.record({ grow: fc.nat(6), change: fc.nat(40), drop: fc.boolean() }))
    fc.assert(
      fc.property(blocksOfRun, steps, (blocks, updates) => {
        const fold = new WorkFold()
        let shown: Array<RunBlock> = []
        let next = 0
        for (const { change, drop, grow } of updates) {
          shown.push(...blocks.slice(next, next + grow))
          next += grow
          const block = shown[change]
          if (block !== undefined) shown[change] = laterVersion(block)
          if (drop && change > 35) shown = shown.slice(1)
          assert.deepStrictEqual(fold.update(shown), new WorkFold().update(shown))
        }
      })
    )
  })

  it("keeps a part without changes the same object", () => {
    fc.assert(
      fc.property(blocksOfRun, fc.nat(40), (blocks, at) => {
        const fold = new WorkFold()
        const before = [...fold.update(blocks)]
        const block = blocks[at]
        const after = fold.update(block === undefined ? blocks : blocks.with(at, laterVersion(block)))
        const changed = after.filter((part, nth) => part !== before[nth])
        assert.lengthOf(changed, block === undefined ? 0 : 1)
      })
    )
  })
})

describe("rows of the work", () => {
  it("contain every part once and in order, and fold only neighbours", () => {
    fc.assert(
      fc.property(blocksOfRun, (blocks) => {
        const parts = [...new WorkFold().update(blocks)]
        const rows = rowsOfWork(parts)
        assert.deepStrictEqual(
          rows.flatMap((row): ReadonlyArray<WorkPart> => (row.kind === "explored" ? row.actions : [row])),
          parts
        )
        for (const row of rows) if (row.kind === "explored") assert.isAtLeast(row.actions.length, 2)
      })
    )
  })

  it("count each action once", () => {
    fc.assert(
      fc.property(blocksOfRun, (blocks) => {
        const parts = new WorkFold().update(blocks)
        const total = Object.values(countsOf(parts)).reduce((sum, n) => sum + n, 0)
        assert.strictEqual(total, parts.filter(({ kind }) => kind === "action").length)
      })
    )
  })
})
