/** `npm run test:faults`: each fault in each phase of a run, seen from each surface. */
import { afterAll, beforeAll, describe, it } from "@effect/vitest"
import { CorralUnderFaults } from "./CorralUnderFaults.ts"
import { type FaultCell, runCell, titleOf } from "./FaultCell.ts"
import { faultPhases } from "./FaultPhases.ts"
import { faultNames, type FaultProduct, surfaceNames } from "./FaultProduct.ts"

const cells: ReadonlyArray<FaultCell> = surfaceNames.flatMap((surface) =>
  faultNames.flatMap((fault) => faultPhases.map((phase) => ({ fault, phase, surface })))
)

describe("the fault matrix", { timeout: 120_000 }, () => {
  let product: FaultProduct
  beforeAll(async () => {
    product = await CorralUnderFaults.open()
  }, 120_000)
  afterAll(() => product.remove(), 60_000)

  it.each(cells.map((cell, at) => [titleOf(cell), cell, `cell ${at + 1}.`] as const))(
    "%s",
    async (_, cell, name) => {
      process.stderr.write(`${titleOf(cell)}: ${(await runCell(product, cell, name)).toFixed(0)} ms\n`)
    }
  )
})
