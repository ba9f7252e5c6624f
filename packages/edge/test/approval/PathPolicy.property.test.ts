import { assert, describe, it } from "@effect/vitest"
import { effort } from "@corral/testing/time/Effort"
import { Seeded } from "../harness/Seeded.ts"
import { fuzzPaths } from "./fuzz/PathFuzz.ts"

describe("auto_edit", () => {
  it("changes no protected file and nothing outside, in generated trees", () => {
    const found = fuzzPaths(new Seeded("paths"), { judgedCount: 3_000 * effort, written: 300 * effort })
    assert.isAtLeast(found.written, 300 * effort)
  })
})
