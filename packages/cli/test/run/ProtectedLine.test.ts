import { assert, describe, it } from "@effect/vitest"
import { protectedLine } from "../../src/run/ProtectedLine.ts"

describe("protectedLine", () => {
  it("names the files, and how many more there are", () => {
    const files = [
      { path: "package.json", change: "modified" },
      { path: ".vs\u001bcode", change: "created" }
    ] as const
    assert.strictEqual(
      protectedLine({ count: 5, files }),
      "Changed without an approval that names it: package.json (modified), .vs␛code (created) and 3 more. Other programs run or obey such files. Review them."
    )
  })

  it("says that names were left out", () => {
    assert.match(
      protectedLine({ count: 0, files: [], incomplete: true }),
      /^Some protected names were not compared/
    )
  })
})
