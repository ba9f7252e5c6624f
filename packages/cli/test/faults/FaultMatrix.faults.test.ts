/** `npm run test:faults`: each fault in each phase of a run, seen from each surface. A whole run writes `docs/fault-matrix.md`. */
import { afterAll, beforeAll, describe, it } from "@effect/vitest"
import { writeFileSync } from "node:fs"
import { CorralUnderFaults } from "./CorralUnderFaults.ts"
import { runCells, titleOf } from "./FaultCell.ts"
import { faultMatrixPage, publishedChecks, resultTitles, titleOfCheck } from "./FaultMatrixPage.ts"
import { faultPhases } from "./FaultPhases.ts"
import { faultNames, type FaultProduct, surfaceNames } from "./FaultProduct.ts"

const page = new URL("../../../../docs/fault-matrix.md", import.meta.url)

const pairs = faultNames
  .flatMap((fault) => faultPhases.map((phase) => ({ fault, phase })))
  .map((pair, at) => [`${pair.fault}, ${pair.phase.name}`, pair, `cell ${at + 1}`] as const)

describe("the fault matrix", { timeout: 240_000 }, () => {
  const results = new Map<string, "passed" | "failed">()
  let product: FaultProduct
  beforeAll(async () => {
    product = await CorralUnderFaults.open()
  }, 120_000)
  afterAll(async () => {
    await product.remove()
    if (results.size === resultTitles.length) writeFileSync(page, faultMatrixPage(results))
  }, 60_000)

  it.each(pairs)("%s", async (_, { fault, phase }, name) => {
    const cells = await runCells(product, fault, phase, name)
    const errors = cells.flatMap((cell, at) => {
      const title = titleOf({ fault, phase, surface: surfaceNames[at] ?? "API" })
      results.set(title, cell.status === "fulfilled" ? "passed" : "failed")
      if (cell.status === "fulfilled")
        process.stderr.write(`${title}: ${cell.value.toFixed(0)} ms after the fault\n`)
      return cell.status === "rejected" ? [new Error(title, { cause: cell.reason })] : []
    })
    if (errors.length > 0)
      throw new AggregateError(errors, errors.map(({ cause, message }) => `${message}: ${cause}`).join("; "))
  })

  it.each(publishedChecks.map((published) => [titleOfCheck(published), published] as const))(
    "%s",
    { timeout: 400_000 },
    async (title, { check, id }) => {
      results.set(title, "failed")
      await check?.(product, id)
      results.set(title, "passed")
    }
  )
})
