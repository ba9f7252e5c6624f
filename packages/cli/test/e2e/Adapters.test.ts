/** `corral adapters` and `corral doctor` with external adapters: what they print, write and refuse. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Corral } from "./Corral.ts"

const sample = new URL("../../../conformance/test/SampleModule.ts", import.meta.url)

describe("corral adapters", () => {
  const corral = new Corral()
  const config = join(corral.home, "edge.config.json")
  const folder = join(corral.home, "adapters")
  const file = (name: string): string => join(folder, name)
  beforeAll(() => {
    for (const each of [corral.home, folder]) mkdirSync(each, { mode: 0o700 })
    const faulty = (fault: string) =>
      `import sample from ${JSON.stringify(sample.href)}
      export default { ...sample, ${fault} }`
    writeFileSync(file("good.mjs"), faulty(""), { mode: 0o600 })
    const protocol = "protocol: (start) => Object.assign(sample.protocol(start), { cancel: () => '' })"
    writeFileSync(file("careless.mjs"), faulty(protocol), { mode: 0o600 })
    writeFileSync(file("newer.mjs"), faulty("specificationVersion: 3"), { mode: 0o600 })
    writeFileSync(config, '{\n  "profiles": []\n}\n', { mode: 0o600 })
  })
  afterAll(() => corral.close())

  it("checks an adapter: one line per finding, and the exit code", async () => {
    const good = await corral.run("adapters", "check", file("good.mjs"))
    assert.deepStrictEqual([good.exit, good.out], [0, ["✓ custom:sample: no findings with invented output"]])
    const careless = await corral.run("adapters", "check", file("careless.mjs"))
    assert.strictEqual(careless.exit, 1)
    assert.isNotEmpty(careless.out)
    for (const line of careless.out) assert.match(line, /^✗ cancel: /)
    const newer = await corral.run("adapters", "check", "--json", file("newer.mjs"))
    assert.strictEqual(newer.exit, 1)
    const { findings } = JSON.parse(newer.out.join("")) as {
      readonly findings: ReadonlyArray<{ readonly rule: string }>
    }
    assert.deepStrictEqual(
      findings.map(({ rule }) => rule),
      ["load"]
    )
    assert.strictEqual((await corral.run("adapters", "check")).exit, 2)
  })

  it("adds what it finds right, once, and refuses the rest", async () => {
    const refusal = await corral.run("adapters", "add", file("careless.mjs"))
    assert.strictEqual(refusal.exit, 2)
    const added = await corral.run("adapters", "add", file("good.mjs"))
    assert.strictEqual(added.exit, 0)
    assert.include(added.out.join("\n"), "An Edge loads it when it starts.")
    const text = `{\n  "profiles": [],\n  "adapters": [${JSON.stringify(file("good.mjs"))}]\n}\n`
    assert.strictEqual(readFileSync(config, "utf8"), text)
    assert.include((await corral.run("adapters", "add", file("good.mjs"))).out.join("\n"), "is already in")
    chmodSync(config, 0o666)
    assert.include((await corral.run("adapters", "add", file("good.mjs"))).stderr, "Other users can write")
    chmodSync(config, 0o600)
    assert.strictEqual(readFileSync(config, "utf8"), text)
  })

  it("lists adapters by source, and doctor reports what is left out", async () => {
    const adapters = [file("good.mjs"), file("newer.mjs")]
    writeFileSync(config, JSON.stringify({ adapters }))
    const listed = await corral.run("adapters", "list", "--json")
    const found = listed.out.map(
      (line) =>
        JSON.parse(line) as {
          readonly id: string
          readonly source: string
          readonly modes: ReadonlyArray<string>
        }
    )
    assert.deepInclude(
      found.find(({ id }) => id === "custom:sample"),
      { source: "custom" }
    )
    assert.deepInclude(
      found.find(({ id }) => id === "scripted"),
      { source: "built in" }
    )
    const problem = `The adapter ${file("newer.mjs")} is not loaded: its specificationVersion is 3`
    assert.include(listed.stderr, problem)
    assert.strictEqual(listed.exit, 1)
    const doctor = await corral.run("doctor")
    assert.include(doctor.out.join("\n"), problem)
    assert.strictEqual(doctor.exit, 1)
  })
})
