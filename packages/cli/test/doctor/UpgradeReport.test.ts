import { assert, describe, it } from "@effect/vitest"
import { formatUpgrade } from "../../src/doctor/UpgradeReport.ts"

const found = { runs: 2, build: "1.0.0", isCompatible: true }

describe("formatUpgrade", () => {
  it("says that nothing is live", () => {
    const text = "No run is live. Corral 2.0.0 can be started instead of a running one.\n"
    assert.strictEqual(formatUpgrade(undefined, "2.0.0"), text)
    assert.strictEqual(formatUpgrade({ ...found, runs: 0 }, "2.0.0"), text)
  })

  it("says in one sentence what continues, or cannot", () => {
    assert.strictEqual(
      formatUpgrade(found, "2.0.0"),
      "2 live runs of Corral 1.0.0 continue under Corral 2.0.0. Stop the running Corral, then start this one.\n"
    )
    assert.strictEqual(
      formatUpgrade({ ...found, runs: 1, isCompatible: false }, "2.0.0"),
      "Corral 2.0.0 cannot continue 1 live run of Corral 1.0.0. Let it end, or cancel it, before you start this version.\n"
    )
  })
})
