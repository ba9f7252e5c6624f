/** Checks of a module in a thread, also of one that blocks, exits or cannot be imported. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { checkModule } from "../src/CheckModule.ts"
import { sampleRecordings } from "./SampleAdapter.ts"

const sample = new URL("./SampleModule.ts", import.meta.url)

/** Blocks its thread without using a processor. */
const blocking = "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)"

/** A module that starts with this code and exports the sample with this fault. */
const moduleOf = (code: string, fault = ""): string => {
  const folder = mkdtempSync(join(tmpdir(), "corral-module-"))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, "adapter.mjs")
  writeFileSync(
    file,
    `${code}
    import sample from ${JSON.stringify(sample.href)}
    export default { ...sample, protocol: (start) => Object.assign(sample.protocol(start), {${fault}}) }`
  )
  return file
}

const findingsOf = async (module: string | URL, limitMs = 20_000) =>
  (await checkModule({ module, recordings: sampleRecordings, runs: 2, limitMs })).flatMap(
    ({ findings, name }) => findings.map(({ message, rule }) => `${name} | ${rule}: ${message}`)
  )

describe("checkModule", () => {
  it("finds nothing in a correct module", async () => {
    assert.deepStrictEqual(await findingsOf(sample), [])
  })

  it("finds a call that blocks, and names its check", async () => {
    const findings = await findingsOf(moduleOf("", `answer() { ${blocking} }`), 5_000)
    assert.deepStrictEqual(findings, ["edits: with answers | blocks: it does not return within 5 seconds"])
  })

  it("finds an import that blocks, throws or ends the process", async () => {
    assert.deepStrictEqual(
      await findingsOf(moduleOf("await new Promise(() => setInterval(() => 0, 1e3))"), 2_000),
      ["is imported | blocks: it does not return within 2 seconds"]
    )
    assert.deepStrictEqual(await findingsOf(moduleOf("throw new Error('broken')")), [
      "is imported | throws: importing it fails: broken"
    ])
    assert.deepStrictEqual(await findingsOf(moduleOf("process.exit(0)")), [
      "is imported | throws: it ends the process"
    ])
  })
})
